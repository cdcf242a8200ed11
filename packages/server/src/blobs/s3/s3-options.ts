/** The address of the bucket, its credentials and the use of it. */
export interface S3Options {
  /** Such as https://s3.eu-central-1.amazonaws.com; without a slash at its end. */
  readonly endpoint: string
  /** The address at which clients reach the same store, for forms and signed addresses. */
  readonly publicEndpoint: string
  readonly region: string
  readonly bucket: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** True: the bucket is the first name of the path; false: the first name of the host. */
  readonly forcePathStyle: boolean
  /** The prefix of every key: empty, or names that end with a slash. */
  readonly prefix: string
  /** True when clients send files straight to the store, by a form. */
  readonly directUploads: boolean
  /** True when clients get files from the store, by signed addresses. */
  readonly redirectDownloads: boolean
  /** A folder of this process for uploads in progress; it is emptied at the start. */
  readonly spoolFolder: string
  readonly timeouts?: S3Timeouts
}

export interface S3Timeouts {
  readonly connectMs: number
  /** Time without progress until an answer begins. */
  readonly answerMs: number
  /** The same for requests with a body: storing a large file takes longer. */
  readonly putAnswerMs: number
  /** Time between two chunks of an answer. */
  readonly bodyMs: number
}

export const defaultTimeouts: S3Timeouts = {
  connectMs: 3000,
  answerMs: 5000,
  putAnswerMs: 10_000,
  bodyMs: 10_000,
}

/** Returns the address of the bucket, without a slash at its end, or of an object in it. */
export function addressOf(endpoint: string, options: S3Options, name?: string): URL {
  const { bucket, forcePathStyle } = options
  const url = new URL(endpoint)
  if (!forcePathStyle) url.host = `${bucket}.${url.host}`
  const names = [url.pathname.replace(/\/$/, ''), forcePathStyle ? bucket : null, name]
  url.pathname = names.filter((part) => part !== null && part !== undefined).join('/')
  return url
}
