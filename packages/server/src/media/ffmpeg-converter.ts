import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { MediaError, type VoiceConverter } from './media.js'
import { readBounded } from './read-bounded.js'
import { WorkQueue } from './work-queue.js'

/** Bound of the input: 20 minutes of AMR in its best quality, 10 of wide band. */
const maxSourceBytes = 2 * 1024 * 1024
/** Bound of the output: half an hour at 32 kbit/s. */
const maxOutputBytes = 8 * 1024 * 1024
const timeLimitMs = 20_000
const queue = { parallel: 1, maxWaiting: 32 }

/** The input format is fixed, so that no input makes ffmpeg open a file or an address. */
const input = ['-protocol_whitelist', 'pipe', '-f', 'amr', '-i', 'pipe:0']
const output = [
  ...['-map', '0:a:0', '-map_metadata', '-1', '-ac', '1', '-ar', '24000'],
  ...['-c:a', 'libmp3lame', '-b:a', '32k'],
  // The output has frames only: no output means no voice.
  ...['-id3v2_version', '0', '-write_xing', '0', '-f', 'mp3', 'pipe:1'],
]
const programArguments = [
  ...['-nostdin', '-hide_banner', '-loglevel', 'error', '-threads', '1'],
  ...input,
  ...output,
]

type Ffmpeg = ChildProcessByStdio<Writable, Readable, null>

/** Converts voice with ffmpeg, a program of the machine: through pipes, without a shell, within a time limit. */
export class FfmpegConverter implements VoiceConverter {
  readonly #queue = new WorkQueue(queue)

  /** @param program path of ffmpeg; null: the machine has none */
  constructor(readonly program: string | null) {}

  async toMp3(source: Readable): Promise<Buffer> {
    return this.#queue.run(source, async () => {
      if (this.program === null)
        throw new MediaError('unsupported', 'this server does not convert voice')
      return convert(this.program, await readBounded(source, maxSourceBytes))
    })
  }
}

async function convert(program: string, voice: Buffer): Promise<Buffer> {
  const ffmpeg = spawn(program, programArguments, {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {},
    timeout: timeLimitMs,
    killSignal: 'SIGKILL',
  })
  const ended = endOf(ffmpeg)
  // The program may end before it has read its input; its exit code says why.
  ffmpeg.stdin.on('error', () => {})
  ffmpeg.stdin.end(voice)
  try {
    const [mp3] = await Promise.all([readBounded(ffmpeg.stdout, maxOutputBytes), ended])
    if (mp3.length === 0) throw unreadableVoice()
    return mp3
  } finally {
    ffmpeg.kill('SIGKILL')
  }
}

async function endOf(ffmpeg: Ffmpeg): Promise<void> {
  return new Promise((resolve, reject) => {
    ffmpeg.once('error', (cause) =>
      reject(new MediaError('unsupported', 'voice cannot be converted now', { cause })),
    )
    ffmpeg.once('close', (code, signal) => {
      if (code === 0) resolve()
      else if (signal) reject(new MediaError('too_complex', 'converting the voice takes too long'))
      else reject(unreadableVoice())
    })
  })
}

function unreadableVoice(): MediaError {
  return new MediaError('unreadable', 'the voice cannot be read')
}
