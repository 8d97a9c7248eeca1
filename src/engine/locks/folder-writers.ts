import { statfsSync } from "node:fs";

/**
 * Which machines can write a folder: this one alone, or others as well. A file system on a disk of this machine has one kernel
 * at a time, so that what another kernel wrote there was written before this machine was last started.
 */
export type FolderWriters = "thisMachine" | "others";

/**
 * The file systems that one kernel at a time mounts, by the number that it gives them. Any other counts as shared: NFS, SMB, 9p,
 * FUSE, Ceph, and those of containers, whose lower layers may be anything. Source: statfs(2), linux/magic.h.
 */
const onDisksOfLinux = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // btrfs
  0xca451a4e, // bcachefs
  0xf2f52010, // F2FS
  0x2fc12fc1, // ZFS
  0x3153464a, // JFS
  0x01021994, // tmpfs
]);

/** HFS+ and APFS, as Darwin's vfs_typenum has them. */
const onDisksOfDarwin = new Set([0x11, 0x1a]);

/** Which machines can write a folder that is there; others where the system does not tell. */
export function folderWriters(folder: string): FolderWriters {
  const onDisks = process.platform === "darwin" ? onDisksOfDarwin : onDisksOfLinux;
  try {
    return onDisks.has(statfsSync(folder).type) ? "thisMachine" : "others";
  } catch {
    return "others";
  }
}
