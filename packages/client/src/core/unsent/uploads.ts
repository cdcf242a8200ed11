import type { Failure } from '../../errors.js'
import type { UploadAnswer } from '../../ports/transport.js'
import type { CallOutcome, CoreContext } from '../core-context.js'
import { jsonObject } from '../link/wire-text.js'
import { isRepeated, waitMsOf } from '../outcomes.js'
import { failureOfUpload } from './upload-failure.js'
import type { UnsentRecord } from '../../model/records.js'

/** Takes the outcomes of uploads. */
export interface UploadsListener {
  uploaded(transactionId: number, attachment: string): void
  failed(transactionId: number, failure: Failure): void
}

const maxRunning = 3
/** Uploads of one file that end without a useful answer, until the user has to retry. */
const maxTries = 8
/** Parts of a file after which progress is shown again. */
const progressSteps = 100

interface TicketAnswer {
  readonly upload_url: string
  readonly upload_method: string
  readonly oss_body_param?: Readonly<Record<string, string>>
  readonly download_url: string
}

interface FileUpload {
  readonly entry: UnsentRecord
  /** `waiting` for a place, the session or the next try; else it takes a place. */
  state: 'waiting' | 'paused' | 'ticket' | 'running'
  url: string
  tries: number
}

/**
 * Uploads of files before their messages are sent. Each try takes a new ticket: tickets expire, and
 * one of a lost answer may be used.
 */
export class Uploads {
  readonly #context: CoreContext
  readonly #listener: UploadsListener
  readonly #uploads = new Map<number, FileUpload>()

  constructor(context: CoreContext, listener: UploadsListener) {
    this.#context = context
    this.#listener = listener
  }

  add(entry: UnsentRecord): void {
    this.#uploads.set(entry.transactionId, { entry, state: 'waiting', url: '', tries: 0 })
    this.#begin()
  }

  cancel(transactionId: number): void {
    const upload = this.#uploads.get(transactionId)
    if (!upload) return
    if (upload.state === 'running') this.#context.emit({ type: 'cancelUpload', transactionId })
    this.#end(transactionId)
  }

  opened(): void {
    for (const upload of this.#uploads.values())
      if (upload.state === 'paused') upload.state = 'waiting'
    this.#begin()
  }

  progress(transactionId: number, sentBytes: number): void {
    const upload = this.#uploads.get(transactionId)
    if (upload?.state !== 'running') return
    const { uploads } = this.#context.live
    const total = upload.entry.file?.blob.size ?? 0
    const sent = Math.min(sentBytes, total)
    const shown = uploads[transactionId]?.sent ?? 0
    if (sent === total || Math.abs(sent - shown) * progressSteps >= total)
      this.#context.setLive({ uploads: { ...uploads, [transactionId]: { sent, total } } })
  }

  /** Takes the answer of the upload; undefined: none came. */
  ended(transactionId: number, answer: UploadAnswer | undefined): void {
    const upload = this.#uploads.get(transactionId)
    if (upload?.state !== 'running') return
    const failure = failureOfUpload(answer)
    if (!failure) {
      this.#end(transactionId)
      this.#listener.uploaded(transactionId, attachmentOf(upload.entry, upload.url))
    } else if (!failure.retry || ++upload.tries >= maxTries) this.#fail(transactionId, failure)
    else this.#pause(transactionId, upload)
    this.#begin()
  }

  #begin(): void {
    let places = maxRunning
    for (const { state } of this.#uploads.values())
      if (state === 'ticket' || state === 'running') places--
    for (const [transactionId, upload] of this.#uploads) {
      if (places <= 0 || !this.#context.isOpen) return
      if (upload.state !== 'waiting') continue
      places--
      upload.state = 'ticket'
      const { file, conversationId, isGroup } = upload.entry
      const data = { file_type: file?.fileType, to_id: conversationId, to_type: isGroup ? 2 : 1 }
      this.#context.call('file.upload.chat', data, (outcome) => {
        if (this.#uploads.get(transactionId) === upload)
          this.#ticketCame(transactionId, upload, outcome)
        this.#begin()
      })
    }
  }

  #ticketCame(transactionId: number, upload: FileUpload, outcome: CallOutcome): void {
    const { file } = upload.entry
    const failure = outcome.type === 'failure' ? outcome.failure : undefined
    const ticket =
      outcome.type === 'answer' ? (outcome.answer.data as TicketAnswer | null) : undefined
    if (outcome.type === 'lost') upload.state = 'waiting'
    else if (failure && !isRepeated(failure)) this.#fail(transactionId, failure)
    else if (!file || typeof ticket?.upload_url !== 'string')
      this.#pause(transactionId, upload, failure)
    else {
      upload.state = 'running'
      upload.url = ticket.download_url
      this.#context.emit({
        type: 'upload',
        transactionId,
        url: ticket.upload_url,
        method: ticket.upload_method,
        fields: ticket.oss_body_param ?? {},
        blob: file.blob,
        fileName: file.name,
      })
    }
  }

  #pause(transactionId: number, upload: FileUpload, failure?: Failure): void {
    upload.state = 'paused'
    const pauseMs = waitMsOf(this.#context, failure, upload.tries)
    this.#context.after(`upload ${transactionId}`, pauseMs, () => {
      if (upload.state === 'paused') upload.state = 'waiting'
      this.#begin()
    })
  }

  #fail(transactionId: number, failure: Failure): void {
    this.#end(transactionId)
    this.#listener.failed(transactionId, failure)
  }

  #end(transactionId: number): void {
    this.#uploads.delete(transactionId)
    this.#context.cancel(`upload ${transactionId}`)
    const { [transactionId]: shown, ...uploads } = this.#context.live.uploads
    if (shown) this.#context.setLive({ uploads })
  }
}

/** Returns the attachment with the address; its other members come with the command. */
function attachmentOf({ attachment }: UnsentRecord, url: string): string {
  return JSON.stringify({ ...jsonObject(attachment), url })
}
