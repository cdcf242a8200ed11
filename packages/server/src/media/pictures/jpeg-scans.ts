const marker = 0xff
const startOfScan = 0xda
const endOfImage = 0xd9

/**
 * Counts the scans of a JPEG by its markers. The pictures that follow its end, such as previews, do
 * not count.
 */
export function countJpegScans(jpeg: Buffer): number {
  let scans = 0
  let at = 2
  while (at >= 0 && at + 3 < jpeg.length) {
    at = jpeg.indexOf(marker, at)
    if (at < 0) break
    const code = jpeg[at + 1] ?? 0
    if (code === endOfImage) break
    if (code === startOfScan) scans++
    at = hasLength(code) && at + 3 < jpeg.length ? at + 2 + jpeg.readUInt16BE(at + 2) : at + 1
  }
  return scans
}

/**
 * Reports whether a segment follows: neither a fill byte, nor an escaped byte of a scan, nor a
 * restart within it.
 */
function hasLength(code: number): boolean {
  return code !== marker && code > 0x01 && !(code >= 0xd0 && code <= 0xd8)
}
