/**
 * How tests send files and fetch them, as clients do: they know nothing of addresses and signatures
 * but where to cut them.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { join, relative } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import type { UploadTicket } from '@hermod/protocol'
import { Answer, type Api } from '@hermod/testkit'

/** file_type of a ticket. */
export const fileTypes = {
  plain: 100,
  voice: 101,
  picture: 102,
  video: 103,
  mp3: 104,
  sharedPlain: 200,
} as const
export const targets = { user: 1, group: 2 } as const

/** A picture of one red pixel. */
export const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)

/** Voice that is noise: frames of 20 ms, by default at 12.2 kbit/s. */
export function amr(seconds: number, { header, bytes } = { header: 0x3c, bytes: 31 }): Buffer {
  const frames = Array.from({ length: seconds * 50 }, () =>
    Buffer.concat([Buffer.from([header]), randomBytes(bytes)]),
  )
  return Buffer.concat([Buffer.from('#!AMR\n'), ...frames])
}

export interface FormOptions {
  readonly name?: string
  readonly fields?: Readonly<Record<string, string>>
}

/** A form with the fields first and the file last. */
export function formOf(content: Uint8Array, { name = 'file.bin', fields = {} }: FormOptions = {}) {
  const boundary = 'boundary-of-the-form'
  const parts = Object.entries(fields).map(
    ([field, value]) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`,
  )
  const head = `${parts.join('')}--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: application/octet-stream\r\n\r\n`
  return {
    rawBody: Buffer.concat([Buffer.from(head), content, Buffer.from(`\r\n--${boundary}--\r\n`)]),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  }
}

/** The path and query of an absolute address. */
export function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}

/** What existing clients take as file_sign. */
export function signOf(downloadUrl: string): string {
  const [, ...rest] = downloadUrl.split('sign=')
  return rest.join('sign=')
}

/** The ID of the file of an address, which clients never look at. */
export function fileIdOf(downloadUrl: string): string {
  const [, fileId] = JSON.parse(
    Buffer.from(signOf(downloadUrl).slice(0, -macLength), 'base64url').toString(),
  )
  return fileId
}

const macLength = 43

export function ticketFor(
  api: Api,
  to: { readonly to_id: number; readonly to_type?: number; readonly file_type?: number },
): Promise<Answer<UploadTicket>> {
  return api.call('GET', '/file/upload/chat', { query: { file_type: fileTypes.plain, ...to } })
}

/** Sends a file with a ticket, without credentials. */
export function upload(
  api: Api,
  ticket: UploadTicket,
  content: Uint8Array,
  options: FormOptions = {},
): Promise<Answer> {
  const { upload_url, upload_method, oss_body_param } = ticket
  const fields = { ...(oss_body_param as Record<string, string>), ...options.fields }
  const form = formOf(content, { ...options, fields })
  return api.call(upload_method, pathOf(upload_url), { ...form, token: null, appId: null })
}

/** Ticket and upload of a file that must succeed. @returns its download_url */
export async function sendFile(
  api: Api,
  to: Parameters<typeof ticketFor>[1],
  content: Uint8Array,
  options: FormOptions = {},
): Promise<string> {
  const { data: ticket } = (await ticketFor(api, to)).envelope
  const answer = await upload(api, ticket, content, options)
  if (answer.text !== '{"code":200,"data":true,"message":null}')
    throw new Error(`the upload answered ${answer.text}`)
  return ticket.download_url
}

export interface Fetched {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Buffer
}

export interface FetchOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
}

/** As an element of a page does it, with nothing but the address. */
export async function fetchBytes(
  url: string,
  { body, ...options }: FetchOptions = {},
): Promise<Fetched> {
  const sent = request(url, { agent: false, ...options }).end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const { statusCode: status = 0, headers } = response
  return { status, headers, body: await buffer(response) }
}

/** The address with what clients append to it. */
export function withCredentials(
  api: Api,
  token: string | null,
  url: string,
  more: Readonly<Record<string, string | number>> = {},
): string {
  const credentials = token === null ? '' : `&access-token=${token}&app_id=${api.options.appId}`
  const params = Object.entries(more).map(([name, value]) => `&${name}=${value}`)
  return `${url}${credentials}${params.join('')}`
}

/** @returns the bytes, or the code of the envelope that came in their place */
export async function fetchAs(
  api: Api,
  token: string | null,
  url: string,
  more: Readonly<Record<string, string | number>> = {},
): Promise<Buffer | number> {
  const { status, headers, body } = await fetchBytes(withCredentials(api, token, url, more))
  if (/^application\/json/.test(String(headers['content-type'])))
    return new Answer(status, {}, body.toString()).code
  return body
}

/** What the folder of the files holds besides its mark, by paths below it; renditions too. */
export function blobsIn(dataDir: string): string[] {
  const folder = join(dataDir, 'files')
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
}

/** An upload that has begun: its head, which tells its length, and the form up to a part of its file. */
export class SlowUpload {
  readonly answered: Promise<Answer>
  readonly #request: ClientRequest
  readonly #rest: Buffer

  /** @param share how much of the form is sent, 0 to 1 */
  constructor(api: Api, ticket: UploadTicket, content: Uint8Array, share = 0.5) {
    const { rawBody, headers } = formOf(content)
    const begun = Math.floor(rawBody.length * share)
    this.#rest = rawBody.subarray(begun)
    this.#request = request(api.options.url + pathOf(ticket.upload_url), {
      method: 'POST',
      agent: false,
      headers: { ...headers, 'content-length': rawBody.length },
    })
    this.answered = this.#answer()
    this.#request.flushHeaders()
    this.#request.write(rawBody.subarray(0, begun))
  }

  finish(): Promise<Answer> {
    this.#request.end(this.#rest)
    return this.answered
  }

  async #answer(): Promise<Answer> {
    const [response] = (await once(this.#request, 'response')) as [IncomingMessage]
    return new Answer(response.statusCode ?? 0, response.headers, await text(response))
  }

  /** The client goes away. */
  cut(): void {
    this.answered.catch(() => {})
    this.#request.destroy()
  }
}
