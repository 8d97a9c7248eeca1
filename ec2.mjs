import * as s from "@aws-sdk/client-ec2";
const [cmd,json]=process.argv.slice(2);
const c=new s.EC2Client({});
try { const r=await c.send(new s[cmd+"Command"](JSON.parse(json??"{}"))); delete r.$metadata; console.log(JSON.stringify(r)); } catch(e){console.log("ERR",e.name,e.message)}
