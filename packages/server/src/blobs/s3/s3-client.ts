import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, type Dispatcher, request } from 'undici'
import { BlobError, type BlobErrorReason } from '../blob-store.js'
import { addressOf, defaultTimeouts, type S3Options, type S3Timeouts } from './s3-options.js'
import { S3Signer, type SignableRequest } from './s3-signer.js'
import { element } from './xml.js'

const attempts = 3
const pauseMs = 150
/** A store that took longer to fail is slow; another attempt would only keep the caller waiting. */
const retryWithinMs = 2000
/** Statuses after which another attempt may succeed. */
const passing: ReadonlySet<number> = new Set([429, 500, 502, 503, 504])
/** Bound of a text answer; a list of a thousand keys is shorter. */
const maxTextBytes = 4 * 1024 * 1024
const emptyHash = createHash('sha256').digest('hex')

interface S3Request {
  readonly method: SignableRequest['method']
  /** The key of an object; unset: the request is for the bucket. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** `content` is called once for each attempt. */
  readonly body?: {
    readonly size: number
    readonly sha256: string
    content(): Buffer | Readable
  }
}

export interface S3Answer {
  readonly status: number
  header(name: string): string
  readonly body: Readable
}

/** Sends signed requests to one bucket, with bounded time and bounded repetition. */
export class S3Client {
  readonly #signer: S3Signer
  readonly #agent: Agent
  readonly #timeouts: S3Timeouts

  constructor(private readonly options: S3Options) {
    this.#signer = new S3Signer(options)
    this.#timeouts = options.timeouts ?? defaultTimeouts
    const { connectMs, answerMs, bodyMs } = this.#timeouts
    this.#agent = new Agent({
      connect: { timeout: connectMs },
      headersTimeout: answerMs,
      bodyTimeout: bodyMs,
    })
  }

  /**
   * Returns an answer of success. The caller reads or destroys its body.
   *
   * @throws BlobError not_found (of an object), unavailable, full, damaged (a range outside the object)
   */
  async send(wanted: S3Request): Promise<S3Answer> {
    const startedAt = performance.now()
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(wanted)
      } catch (error) {
        const failure = error instanceof S3Failure ? error : unreachable(error)
        const isLate = performance.now() - startedAt > retryWithinMs
        if (!failure.isPassing || attempt === attempts || isLate) throw failure
      }
      await pause(pauseMs * attempt)
    }
  }

  /** Sends a request whose answer is text. */
  async text(wanted: S3Request): Promise<string> {
    try {
      return await textOf(await this.send(wanted))
    } catch (error) {
      throw error instanceof BlobError ? error : unreachable(error)
    }
  }

  async #attempt({ method, key, query = {}, headers = {}, body }: S3Request): Promise<S3Answer> {
    const url = addressOf(this.options.endpoint, this.options, key)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const length = body === undefined ? {} : { 'content-length': String(body.size) }
    const signed = await this.#signer.headers({
      method,
      url,
      headers: { ...headers, ...length },
      payloadHash: body?.sha256 ?? emptyHash,
    })
    const answer = await request(url, {
      dispatcher: this.#agent,
      method,
      headers: signed,
      ...(body && { headersTimeout: this.#timeouts.putAnswerMs }),
      ...(body && { body: body.content() }),
    })
    if (answer.statusCode >= 300) throw await refusal(s3Answer(answer), key)
    return s3Answer(answer)
  }
}

/** An error answer of the store, or a missing answer. */
class S3Failure extends BlobError {
  constructor(
    reason: BlobErrorReason,
    message: string,
    /** True when another attempt may succeed. */
    readonly isPassing: boolean,
    options?: ErrorOptions,
  ) {
    super(reason, message, options)
  }
}

function s3Answer({ statusCode, headers, body }: Dispatcher.ResponseData): S3Answer {
  const header = (name: string) => {
    const value = headers[name]
    return Array.isArray(value) ? value.join(', ') : (value ?? '')
  }
  // Destroying the body must not emit an unhandled error.
  body.on('error', () => {})
  return { status: statusCode, header, body }
}

async function refusal(answer: S3Answer, key: string | undefined): Promise<S3Failure> {
  const xml = await textOf(answer).catch(() => '')
  const code = element(xml, 'Code')
  const text = [answer.status, code, element(xml, 'Message').slice(0, 200)]
    .filter(Boolean)
    .join(' ')
  const message = `the object store answers ${text}`
  return new S3Failure(reasonOf(answer.status, code, key), message, passing.has(answer.status))
}

function reasonOf(status: number, code: string, key: string | undefined): BlobErrorReason {
  if (status === 404 && key !== undefined && code !== 'NoSuchBucket') return 'not_found'
  if (status === 416) return 'damaged'
  return status === 507 || /Quota|StorageFull/.test(code) ? 'full' : 'unavailable'
}

function unreachable(cause: unknown): S3Failure {
  const { code, message } = cause as NodeJS.ErrnoException
  const text = `the object store does not answer: ${code ?? message}`
  return new S3Failure('unavailable', text, true, { cause })
}

async function textOf({ body }: S3Answer): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxTextBytes) throw new BlobError('unavailable', 'the object store answers too much')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
