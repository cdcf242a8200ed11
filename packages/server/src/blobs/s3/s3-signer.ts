import { createHash, createHmac } from 'node:crypto'
import { SignatureV4 } from '@smithy/signature-v4'
import type { DownloadUrlOptions, StoreForm, UploadFormOptions } from '../blob-store.js'
import { addressOf, type S3Options } from './s3-options.js'

const algorithm = 'AWS4-HMAC-SHA256'

type Signable = Parameters<SignatureV4['presign']>[0]

export interface SignableRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** SHA-256 of the body in hex. */
  readonly payloadHash: string
}

/** Signs requests, addresses and forms with signature version 4 of S3. */
export class S3Signer {
  readonly #signer: SignatureV4

  constructor(private readonly options: S3Options) {
    const { region, accessKeyId, secretAccessKey } = options
    this.#signer = new SignatureV4({
      service: 's3',
      region,
      credentials: { accessKeyId, secretAccessKey },
      sha256: Sha256,
      // S3 signs paths as they are sent.
      uriEscapePath: false,
    })
  }

  /** @returns all headers to send */
  async headers({ payloadHash, ...request }: SignableRequest): Promise<Record<string, string>> {
    const headers = { ...request.headers, 'x-amz-content-sha256': payloadHash }
    const signed = await this.#signer.sign(signable({ ...request, headers }))
    return signed.headers
  }

  /** Returns an address that answers the object with these headers until it expires. */
  async downloadUrl(
    key: string,
    { contentType, contentDisposition, expiresInSeconds }: DownloadUrlOptions,
  ): Promise<string> {
    const url = addressOf(this.options.publicEndpoint, this.options, key)
    url.searchParams.set('response-content-type', contentType)
    url.searchParams.set('response-content-disposition', contentDisposition)
    const headers = { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }
    const request = signable({ method: 'GET', url, headers })
    const { query = {} } = await this.#signer.presign(request, { expiresIn: expiresInSeconds })
    url.search = Object.entries(query)
      .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
      .join('&')
    return url.href
  }

  /**
   * Returns a form with which a client stores one object.
   *
   * @see https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html
   */
  async uploadForm(
    key: string,
    { maxBytes, contentType, expiresAt, redirectTo }: UploadFormOptions,
    now = new Date(),
  ): Promise<StoreForm> {
    const { bucket, publicEndpoint, region, accessKeyId } = this.options
    const date = now.toISOString().replace(/[-:]|\.\d+/g, '')
    const fixed = {
      key,
      ...(contentType === null ? {} : { 'Content-Type': contentType }),
      success_action_redirect: redirectTo,
      'x-amz-algorithm': algorithm,
      'x-amz-credential': `${accessKeyId}/${date.slice(0, 8)}/${region}/s3/aws4_request`,
      'x-amz-date': date,
    }
    const conditions = Object.entries({ bucket, ...fixed }).map(([name, value]) => ({
      [name]: value,
    }))
    const policy = Buffer.from(
      JSON.stringify({
        expiration: new Date(expiresAt).toISOString(),
        conditions: [...conditions, ['content-length-range', 1, maxBytes]],
      }),
    ).toString('base64')
    const signature = await this.signPolicy(policy, now)
    const url = addressOf(publicEndpoint, this.options).href
    return { url, fields: { ...fixed, policy, 'x-amz-signature': signature } }
  }

  /** @param policy in base64. @returns hex */
  async signPolicy(policy: string, now: Date): Promise<string> {
    return this.#signer.sign(policy, { signingDate: now })
  }
}

function signable({ method, url, headers }: Omit<SignableRequest, 'payloadHash'>): Signable {
  return {
    method,
    protocol: url.protocol,
    hostname: url.hostname,
    ...(url.port === '' ? {} : { port: Number(url.port) }),
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: { ...headers, host: url.host },
  }
}

/** SHA-256 and its HMAC as the library calls them. */
class Sha256 {
  readonly #hash

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytes(secret))
  }

  update(data: Uint8Array | string): void {
    this.#hash.update(data)
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }

  /** The library makes a new one for each text. */
  reset(): void {}
}

function bytes(data: string | ArrayBuffer | ArrayBufferView): Uint8Array | string {
  if (typeof data === 'string') return data
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data)
}
