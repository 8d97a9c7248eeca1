/** How long a host tries to fetch its secret: rights of a role that was just made take a while to hold. */
const patienceSeconds = 300;

/**
 * The program that fetches a secret, for Python 3 without any package: cloud-init needs that as well, so each image that
 * reads our user data has it, and hardly one of Debian or Ubuntu has the command line of AWS. It has no apostrophe, as a
 * shell keeps it in two of them. Source: IAM User Guide, "Create a signed AWS API request"; EC2 user guide, "Use the
 * Instance Metadata Service to access instance metadata".
 */
const program = `import base64, email.utils, hashlib, hmac, json, os, sys, time
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener, urlopen

name, patience = sys.argv[1], float(sys.argv[2])
imds = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254").rstrip("/")
shift = 0

def ask_instance(path, headers, method="GET"):
    request = Request(imds + "/latest/" + path, headers=headers, method=method)
    return build_opener(ProxyHandler({})).open(request, timeout=5).read().decode()

def digest(data):
    return hashlib.sha256(data).hexdigest()

def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256)

def signed(headers, body, region, credentials):
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() + shift))
    headers = dict(headers, **{"x-amz-date": stamp, "x-amz-security-token": credentials["Token"]})
    names = sorted(headers)
    lines = [one + ":" + headers[one] for one in names]
    request = ["POST", "/", ""] + lines + ["", ";".join(names), digest(body)]
    scope = [stamp[:8], region, "secretsmanager", "aws4_request"]
    text = ["AWS4-HMAC-SHA256", stamp, "/".join(scope), digest("\\n".join(request).encode())]
    key = ("AWS4" + credentials["SecretAccessKey"]).encode()
    for part in scope:
        key = mac(key, part).digest()
    credential = "/".join([credentials["AccessKeyId"]] + scope)
    headers["authorization"] = "AWS4-HMAC-SHA256 Credential=%s, SignedHeaders=%s, Signature=%s" % (
        credential, ";".join(names), mac(key, "\\n".join(text)).hexdigest())
    return headers

def fetched():
    lifetime = {"x-aws-ec2-metadata-token-ttl-seconds": "300"}
    token = {"x-aws-ec2-metadata-token": ask_instance("api/token", lifetime, "PUT")}
    tell = lambda path: ask_instance("meta-data/" + path, token)
    role = tell("iam/security-credentials/").split()[0]
    credentials = json.loads(tell("iam/security-credentials/" + role))
    region = tell("placement/region")
    url = os.environ.get("AWS_ENDPOINT_URL_SECRETS_MANAGER") or os.environ.get("AWS_ENDPOINT_URL")
    url = url or "https://secretsmanager.%s.%s" % (region, tell("services/domain"))
    body = json.dumps({"SecretId": name}).encode()
    headers = {
        "content-type": "application/x-amz-json-1.1",
        "host": url.split("//")[1].rstrip("/"),
        "x-amz-target": "secretsmanager.GetSecretValue",
    }
    request = Request(url, body, signed(headers, body, region, credentials))
    return base64.b64decode(json.loads(urlopen(request, timeout=20).read())["SecretBinary"])

def reason(error):
    if not isinstance(error, HTTPError):
        return repr(error)
    return "%s answers %s %s" % (error.url, error.code, error.read(2000).decode(errors="replace"))

end = time.monotonic() + patience
while True:
    try:
        secret = fetched()
        break
    except Exception as error:
        date = error.headers.get("Date") if isinstance(error, HTTPError) else None
        if date and error.url.startswith("https:"):
            shift = email.utils.parsedate_to_datetime(date).timestamp() - time.time()
        if time.monotonic() >= end:
            sys.exit("cannot fetch %s: %s" % (name, reason(error)))
        time.sleep(min(5, max(0.1, end - time.monotonic())))
sys.stdout.buffer.write(secret)
`;

/**
 * A command for sh that prints a secret on the instance that may read it, or why it cannot on its standard error. Names of
 * secrets are words of a shell. Pure.
 */
export function fetchCommandFor(name: string): string {
  return `python3 -c '${program}' ${name} ${patienceSeconds}`;
}
