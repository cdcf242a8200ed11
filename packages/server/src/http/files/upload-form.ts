/** Reads an uploaded form (RFC 7578): short fields first, then one file. */
import type { Readable } from 'node:stream'
import { Busboy, type BusboyInstance } from '@fastify/busboy'
import { AppError } from '@hermod/protocol'
import { JoinedStream } from '../../lib/system/joined-stream.js'
import type { UploadForm } from '../../pipeline/call.js'

/** The field with the file. */
const fileField = 'file'
/** Policies of object stores are the longest fields. */
const limits = { fields: 32, fieldSize: 16_384, parts: 40, headerPairs: 32, headerSize: 8_192 }
const isForm = /^multipart\/form-data\s*;/i
const maxNameLength = 255
/**
 * Control characters, marks that change the writing direction, and the replacement of bytes that
 * are no UTF-8.
 */
const notInNames = /[\p{Cc}\u202a-\u202e\u2066-\u2069\ufffd]/u

interface FormSource {
  /** The body; destroyed when the form is not read to its end. */
  readonly stream: Readable
  readonly contentType: string | undefined
  /** Called after each change with the bytes of memory that the form holds. */
  held(bytes: number): void
}

/**
 * @returns the form up to its file, see {@link UploadForm}
 * @throws AppError upload_form_invalid, file_missing, file_name_invalid; the error of the stream
 */
export async function readUploadForm(source: FormSource): Promise<UploadForm> {
  const parser = createParser(source.contentType)
  return new Promise((resolve, reject) => {
    new FormReader(source, parser, { resolve, reject }).start()
  })
}

class FormReader {
  readonly #fields = new Map<string, string>()
  #fieldBytes = 0
  #file: JoinedStream | null = null

  constructor(
    private readonly source: FormSource,
    private readonly parser: BusboyInstance,
    private readonly form: { resolve(form: UploadForm): void; reject(error: Error): void },
  ) {}

  start(): void {
    const { parser } = this
    const { stream } = this.source
    parser.on('field', (name: string | undefined, value, _nameCut, isCut) =>
      this.#take(name, value, isCut),
    )
    parser.on('file', (name: string | undefined, bytes, fileName: string | undefined, _, type) =>
      this.#begin({ name, bytes, fileName, type }),
    )
    const tooMany = () => this.#refuse(`it has more than ${limits.fields} fields`)
    parser.on('fieldsLimit', tooMany)
    parser.on('partsLimit', tooMany)
    parser.on('error', () => this.#refuse('it does not end as it has to'))
    parser.on('finish', () => {
      if (this.#file) this.#file.end()
      else this.#fail(new AppError('file_missing'))
    })
    stream.on('error', (error) => this.#fail(error))
    stream.on('end', () => parser.end())
    // The parser keeps nothing of a chunk but the file, which makes the stream wait when it is full.
    stream.on('data', (chunk) => parser.write(chunk))
  }

  #take(name: string | undefined, value: string, isCut: boolean): void {
    if (this.#file) this.#refuse('the file comes last')
    else if (name === undefined) this.#refuse('a field has no name')
    else if (isCut) this.#refuse(`a field has more than ${limits.fieldSize} bytes`)
    else {
      this.#fields.set(name, value)
      this.#fieldBytes += Buffer.byteLength(value)
      this.#changed()
    }
  }

  #begin(part: FilePart): void {
    // The parser reports the same error.
    part.bytes.on('error', () => {})
    const error = this.#file ? invalidForm('it has more than one file') : partError(part)
    if (error) this.#fail(error)
    else this.#open(part)
  }

  #open({ bytes, fileName = '', type }: FilePart): void {
    const body = new JoinedStream(() => this.#changed())
    this.#file = body
    // The stream may fail before it is read.
    body.on('error', () => {})
    body.once('close', () => this.#stop())
    bytes.on('data', (slice: Buffer) => body.append(slice))
    // Browsers write a quotation mark this way, and a percent sign as it is.
    const name = fileName === '' ? null : fileName.replaceAll('%22', '"')
    this.form.resolve({ fields: this.#fields, fileName: name, contentType: type, body })
  }

  #changed(): void {
    const { stream, held } = this.source
    held(this.#fieldBytes + (this.#file?.held ?? 0))
    if (this.#file?.isFull) stream.pause()
    else stream.resume()
  }

  #refuse(detail: string): void {
    this.#fail(invalidForm(detail))
  }

  #fail(error: Error): void {
    this.#stop()
    if (this.#file) this.#file.destroy(error)
    else this.form.reject(error)
  }

  #stop(): void {
    this.source.stream.destroy()
  }
}

interface FilePart {
  readonly name: string | undefined
  readonly bytes: Readable
  readonly fileName: string | undefined
  readonly type: string
}

/** @throws AppError upload_form_invalid */
function createParser(contentType = ''): BusboyInstance {
  const headers = { 'content-type': contentType }
  const isPartAFile = (name?: string, _type?: string, fileName?: string) =>
    name === fileField || fileName !== undefined
  try {
    if (!isForm.test(contentType)) throw new Error('another content type')
    return new Busboy({ headers, limits, isPartAFile })
  } catch (cause) {
    throw invalidForm('it is no multipart/form-data', cause)
  }
}

function partError({ name, fileName = '' }: FilePart): AppError | null {
  if (name !== fileField) return new AppError('file_missing')
  const isName = fileName.length <= maxNameLength && !notInNames.test(fileName)
  return isName ? null : new AppError('file_name_invalid')
}

function invalidForm(detail: string, cause?: unknown): AppError {
  return new AppError('upload_form_invalid', detail, { cause })
}
