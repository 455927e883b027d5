// Files whose content the kernel makes when they are read.

package import Glibc

/// Tells the files of /proc and /sys from files on a disk.
package enum KernelFile {
    /// Whether the length of a regular file may not be that of its content.
    ///
    /// Files of /proc have a length of 0, most of those of /sys have that of a page, and neither have blocks. Small
    /// sparse files have none either, so that reading alone decides.
    package static func mayBe(_ status: stat) -> Bool {
        status.st_blocks == 0 && status.st_size <= 64 * 1024
    }
}
