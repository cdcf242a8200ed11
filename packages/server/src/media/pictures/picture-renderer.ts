import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import {
  type CleanImage,
  type ImageRenderer,
  MediaError,
  type MediaSource,
  type MediaTurn,
  type RenderedImage,
  type RenderOptions,
} from '../media.js'
import { TurnQueue } from '../turn-queue.js'
import { tokensPerSecond, Watchdog } from '../watchdog.js'
import type { PictureAnswer, PictureJob } from './picture-job.js'

const maxSourceBytes = 32 * 1024 * 1024
/** The memory of the service and of this process stays below 600 MB. */
const limits = { timeMs: 10_000, memoryBytes: 350 * 1024 * 1024 }
/** The process takes 60 MB while it waits. */
const idleMs = 60_000
const pixelsPerToken = 4_000_000

/**
 * Renders pictures with sharp (libvips) in a child process: JPEG, PNG, WebP, GIF, AVIF and TIFF.
 * The process starts with the first picture, and again after a picture that ended it.
 */
export class PictureRenderer implements ImageRenderer {
  readonly #queue = new TurnQueue()
  #child: ChildProcess | null = null
  #idle: NodeJS.Timeout | undefined

  async render(
    source: MediaSource,
    options: RenderOptions,
    turn: MediaTurn,
  ): Promise<RenderedImage> {
    const answer = await this.#enqueue(source, options, turn)
    if ('rendered' in answer) return answer.rendered
    throw pictureError(answer)
  }

  async withoutMetadata(source: MediaSource, turn: MediaTurn): Promise<CleanImage | null> {
    const answer = await this.#enqueue(source, null, turn)
    if ('clean' in answer) return answer.clean
    throw pictureError(answer)
  }

  async stop(): Promise<void> {
    const child = this.#child
    this.#end()
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null)
      await once(child, 'exit')
  }

  async #enqueue(
    source: MediaSource,
    render: RenderOptions | null,
    turn: MediaTurn,
  ): Promise<PictureAnswer> {
    const { size: bytes } = source
    if (bytes > maxSourceBytes)
      throw new MediaError('too_complex', `more than ${maxSourceBytes} bytes are not converted`)
    return this.#queue.run(turn, () => this.#run(source, { bytes, render }, turn))
  }

  async #run(source: MediaSource, job: PictureJob, turn: MediaTurn): Promise<PictureAnswer> {
    const bytes = await source.open()
    clearTimeout(this.#idle)
    const child = this.#running()
    try {
      const answering = answerOf(child)
      // It may fail while the bytes are sent, and is awaited after them.
      answering.catch(() => {})
      child.send(job)
      await sendBytes(bytes, child)
      return await watched(child, answering, turn)
    } catch (error) {
      // The process may wait for further bytes of this picture.
      this.#end()
      throw error
    } finally {
      bytes.destroy()
      this.#idle = setTimeout(() => this.#end(), idleMs).unref()
    }
  }

  #running(): ChildProcess {
    if (this.#child) return this.#child
    const child = start()
    child.once('exit', () => {
      if (this.#child === child) this.#child = null
    })
    this.#child = child
    return child
  }

  #end(): void {
    clearTimeout(this.#idle)
    this.#child?.kill('SIGKILL')
    this.#child = null
  }
}

/** @throws the error of the source; a process that ended reports it in its answer */
async function sendBytes(source: Readable, { stdin }: ChildProcess): Promise<void> {
  const write = (chunk: Buffer) =>
    new Promise<void>((resolve, reject) => {
      stdin?.write(chunk, (error) => (error ? reject(error) : resolve()))
    })
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) await write(chunk)
  } catch (error) {
    if (source.errored || !stdin?.destroyed) throw error
  }
}

/** Charges the turn, also for a picture that is refused. @throws MediaError */
async function watched(
  child: ChildProcess,
  answering: Promise<PictureAnswer>,
  turn: MediaTurn,
): Promise<PictureAnswer> {
  using watchdog = new Watchdog(child, limits)
  let pixels = 0
  try {
    const answer = await answering
    pixels = answer.pixels
    return answer
  } catch (error) {
    throw watchdog.exceeded ?? error
  } finally {
    turn.charge(Math.ceil(pixels / pixelsPerToken + watchdog.seconds * tokensPerSecond))
  }
}

function pictureError(answer: PictureAnswer): MediaError {
  if ('reason' in answer) return new MediaError(answer.reason, answer.message)
  throw new Error('the process did other work than it was given')
}

function start(): ChildProcess {
  const script = fileURLToPath(new URL('./picture-worker.js', import.meta.url))
  const child = spawn(process.execPath, [script], {
    stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
    env: {},
  })
  // Neither an idle process nor its channel keeps the service from ending.
  child.unref()
  child.channel?.unref()
  child.on('error', () => {})
  child.stdin?.on('error', () => {})
  return child
}

/** @throws MediaError when the process ends instead of answering */
function answerOf(child: ChildProcess): Promise<PictureAnswer> {
  return new Promise((resolve, reject) => {
    const settle = (end: () => void) => {
      child.off('message', answer).off('error', fail).off('exit', exit)
      end()
    }
    const answer = (message: PictureAnswer) => settle(() => resolve(message))
    const fail = (cause: Error) =>
      settle(() => reject(new MediaError('busy', 'pictures cannot be read now', { cause })))
    const exit = (_: number | null, signal: NodeJS.Signals | null) =>
      settle(() => reject(endedBy(signal)))
    child.on('message', answer).on('error', fail).on('exit', exit)
  })
}

/**
 * The operator or the system kills with the first signals; a picture that breaks the decoder ends
 * the process in another way.
 */
function endedBy(signal: NodeJS.Signals | null): MediaError {
  return signal === 'SIGKILL' || signal === 'SIGTERM' || signal === 'SIGINT'
    ? new MediaError('busy', 'pictures cannot be read now')
    : new MediaError('unreadable', 'the picture cannot be read')
}
