import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { amrSeconds } from './amr-seconds.js'
import { MediaError, type MediaSource, type MediaTurn, type VoiceConverter } from './media.js'
import { readBounded } from './read-bounded.js'
import { TurnQueue } from './turn-queue.js'
import { tokensPerSecond, Watchdog } from './watchdog.js'

/** 20 minutes of AMR in its best quality, 10 of wide band. */
const maxSourceBytes = 2 * 1024 * 1024
const maxVoiceSeconds = 30 * 60
/** Bound of the output: half an hour at 32 kbit/s. */
const maxOutputBytes = 8 * 1024 * 1024
const limits = { timeMs: 10_000, memoryBytes: 128 * 1024 * 1024 }
const voiceSecondsPerToken = 10

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

/**
 * Converts voice with ffmpeg, a program of the machine: through pipes, without a shell, within
 * limits of time and memory.
 */
export class FfmpegConverter implements VoiceConverter {
  readonly #queue = new TurnQueue()

  /** @param program path of ffmpeg; null: the machine has none */
  constructor(readonly program: string | null) {}

  async toMp3(source: MediaSource, turn: MediaTurn): Promise<Buffer> {
    const { program } = this
    if (program === null) throw new MediaError('unsupported', 'this server does not convert voice')
    return this.#queue.run(turn, async () => {
      const voice = await readBounded(await source.open(), maxSourceBytes)
      const seconds = amrSeconds(voice)
      if (seconds > maxVoiceSeconds)
        throw new MediaError(
          'too_complex',
          `more than ${maxVoiceSeconds} seconds are not converted`,
        )
      turn.charge(Math.ceil(seconds / voiceSecondsPerToken))
      return convert(program, voice, turn)
    })
  }
}

async function convert(program: string, voice: Buffer, turn: MediaTurn): Promise<Buffer> {
  const ffmpeg = spawn(program, programArguments, { stdio: ['pipe', 'pipe', 'ignore'], env: {} })
  using watchdog = new Watchdog(ffmpeg, limits)
  const ended = endOf(ffmpeg)
  // The program may end before it has read its input; its exit code says why.
  ffmpeg.stdin.on('error', () => {})
  ffmpeg.stdin.end(voice)
  try {
    const [mp3] = await Promise.all([readBounded(ffmpeg.stdout, maxOutputBytes), ended])
    if (mp3.length === 0) throw unreadableVoice()
    return mp3
  } catch (error) {
    throw watchdog.exceeded ?? error
  } finally {
    ffmpeg.kill('SIGKILL')
    turn.charge(Math.ceil(watchdog.seconds * tokensPerSecond))
  }
}

async function endOf(ffmpeg: Ffmpeg): Promise<void> {
  return new Promise((resolve, reject) => {
    ffmpeg.once('error', (cause) =>
      reject(new MediaError('unsupported', 'voice cannot be converted now', { cause })),
    )
    ffmpeg.once('close', (code, signal) => {
      if (code === 0) resolve()
      else if (signal) reject(new MediaError('busy', 'voice cannot be converted now'))
      else reject(unreadableVoice())
    })
  })
}

function unreadableVoice(): MediaError {
  return new MediaError('unreadable', 'the voice cannot be read')
}
