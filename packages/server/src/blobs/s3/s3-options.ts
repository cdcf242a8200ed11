/** Where the bucket is, and how it is spoken to. */
export interface S3Options {
  /** Such as https://s3.eu-central-1.amazonaws.com; without a slash at its end. */
  readonly endpoint: string
  /** The same store as clients reach it, for what they are sent there with. */
  readonly publicEndpoint: string
  readonly region: string
  readonly bucket: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** True: the bucket is the first name of the path; false: of the host name. */
  readonly forcePathStyle: boolean
  /** Before every key: empty, or names that end with a slash. */
  readonly prefix: string
  /** Whether clients send files straight to the store, by a form. */
  readonly directUploads: boolean
  /** Whether clients get files from the store, by signed addresses. */
  readonly redirectDownloads: boolean
  /** A folder of this process, for what is on its way to the store; it is emptied. */
  readonly spoolFolder: string
  readonly timeouts?: S3Timeouts
}

export interface S3Timeouts {
  readonly connectMs: number
  /** Without any progress, until an answer begins. */
  readonly answerMs: number
  /** The same for requests with a body: a store that keeps a large file takes its time. */
  readonly putAnswerMs: number
  /** Between two pieces of an answer. */
  readonly bodyMs: number
}

export const defaultTimeouts: S3Timeouts = {
  connectMs: 3000,
  answerMs: 5000,
  putAnswerMs: 10_000,
  bodyMs: 10_000,
}

/** The address of the bucket, without a slash at its end, or of an object in it. */
export function addressOf(endpoint: string, options: S3Options, name?: string): URL {
  const { bucket, forcePathStyle } = options
  const url = new URL(endpoint)
  if (!forcePathStyle) url.host = `${bucket}.${url.host}`
  const names = [url.pathname.replace(/\/$/, ''), forcePathStyle ? bucket : null, name]
  url.pathname = names.filter((part) => part !== null && part !== undefined).join('/')
  return url
}
