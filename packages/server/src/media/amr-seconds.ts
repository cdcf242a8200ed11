/** Bytes of the frames of each type, with their header (RFC 4867, 5.3; 3GPP TS 26.101 and 26.201). */
const narrowBand = [13, 14, 16, 18, 20, 21, 27, 32, 6]
const wideBand = [18, 24, 33, 37, 41, 47, 51, 59, 61, 6]
const headers = [
  { header: '#!AMR-WB\n', frames: wideBand },
  { header: '#!AMR\n', frames: narrowBand },
]
const framesPerSecond = 50

/** Counts the seconds of a voice in AMR by the headers of its frames; 0: it is no AMR. */
export function amrSeconds(voice: Buffer): number {
  const format = headers.find(({ header }) => voice.toString('latin1', 0, header.length) === header)
  if (!format) return 0
  let frames = 0
  for (let at = format.header.length; at < voice.length; frames++) {
    const type = ((voice[at] ?? 0) >> 3) & 15
    // The other types are frames without data.
    at += format.frames[type] ?? 1
  }
  return frames / framesPerSecond
}
