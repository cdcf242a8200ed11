import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'

/** A third of the weight of the other threads. */
const niceness = 5

/**
 * Lets the other threads of the machine go before the calling one. Only Linux has a priority for each thread, by an ID that is used like
 * that of a process: https://man7.org/linux/man-pages/man2/setpriority.2.html Elsewhere, and where it is refused, nothing changes.
 */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), niceness)
  } catch {
    // Work in the background is as much in the way as the rest then.
  }
}
