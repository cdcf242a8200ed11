/**
 * A server of its own with one operation that answers files and one that takes them, so that tests
 * say what the files are.
 */
import { createHash } from 'node:crypto'
import { request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { boolean, int64, type Operation, operation, string } from '@hermod/protocol'
import { loadConfig } from '../../../dist/config/config.js'
import { Edge } from '../../../dist/edge/edge.js'
import { createOperationServer } from '../../../dist/http/operation-server.js'
import { EventLoopBudget } from '../../../dist/lib/concurrency/event-loop-budget.js'
import type { ByteRange } from '../../../dist/lib/system/byte-range.js'
import type { FileAnswer, FileContent } from '../../../dist/lib/system/file-answer.js'
import { data, handleDownload, handleUpload, type UploadForm } from '../../../dist/pipeline/call.js'
import { noCallLimits } from '../../../dist/pipeline/call-limits.js'
import { Executor } from '../../../dist/pipeline/executor.js'

export const maxUploadBytes = 3_000_000
const shared = {
  tag: 'Tests',
  summary: 'Tests.',
  callers: 'user',
  scopes: [],
  data: boolean(),
} as const
const download = operation({
  ...shared,
  id: 'test.download',
  methods: ['GET'],
  path: '/test/file',
  credentials: 'query',
  query: { name: string() },
  answersFile: true,
})
const upload = operation({
  ...shared,
  id: 'test.upload',
  methods: ['POST'],
  path: '/test/upload',
  query: { name: string() },
  data: int64(),
  takesFile: { maxBytes: maxUploadBytes },
})
const plain = operation({ ...shared, id: 'test.plain', methods: ['POST'], path: '/test/plain' })

/** What came of an upload that the handler read to its end. */
export interface Received {
  readonly fields: Record<string, string>
  readonly fileName: string | null
  readonly contentType: string
  readonly size: number
  readonly sha256: string
}

export interface FileServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly server: Server
  readonly sockets: ReadonlySet<Socket>
  readonly edge: Edge
  readonly executor: Executor
  /** Answers of `GET /test/file`, by name. */
  readonly files: Map<string, FileAnswer>
  /** What the handlers were called for. */
  readonly seen: string[]
  readonly received: Received[]
  /** Of uploads that failed while the handler read them. */
  readonly broken: unknown[]
  /** What was reported as a failure of the service. */
  readonly errors: unknown[]
  /** Codes of the calls. */
  readonly codes: number[]
  /** How the handler reads an upload; it may be replaced. */
  take(form: UploadForm): Promise<{ size: number; sha256: string }>
}

export interface FileServerOptions {
  readonly origins?: '*' | readonly string[]
  readonly settings?: Readonly<Record<string, string>>
}

export async function startFileServer(options: FileServerOptions = {}): Promise<FileServer> {
  const seen: string[] = []
  const received: Received[] = []
  const broken: unknown[] = []
  const errors: unknown[] = []
  const codes: number[] = []
  const files = new Map<string, FileAnswer>()
  const sockets = new Set<Socket>()
  const executor = new Executor({
    handlers: [
      handleDownload(download, async ({ name }) => {
        seen.push(`download ${name}`)
        const file = files.get(name)
        if (!file) throw new Error('no such file')
        return file
      }),
      handleUpload(upload, async ({ name }, { upload: { form } }) => {
        seen.push(`upload ${name}`)
        if (name === 'unread') return data(0)
        const read = await form(() => {})
        try {
          const { size, sha256 } = await started.take(read)
          const { fields, fileName, contentType } = read
          const all = { fields: Object.fromEntries(fields), fileName, contentType, size, sha256 }
          received.push(all)
          return data(size)
        } catch (error) {
          broken.push(error)
          throw error
        }
      }),
    ],
    authenticator: {
      requireApp: () => {},
      findAdminToken: () => null,
      findUserToken: (_, token) =>
        token === 'hmu_valid'
          ? { userId: 7, deviceSn: null, tokenHash: 'hash', isBot: false }
          : null,
      isOperatorToken: async () => false,
      findSigner: async () => null,
      findTicket: async () => null,
    },
    users: { requireUser: () => {} },
    limits: noCallLimits,
    budget: new EventLoopBudget({ perTurn: 1 }),
    observer: {
      finished: (_call, _operation, code) => codes.push(code),
      failed: (_call, _operation, error) => errors.push(error),
    },
    checkAnswers: true,
  })
  const onError = (error: unknown) => void errors.push(error)
  const edge = new Edge({
    bounds: loadConfig({ ...options.settings }).config.http.bounds,
    observer: { closed: () => {}, refused: () => {} },
    trustProxy: false,
    publicUrl: 'http://localhost',
    origins: options.origins ?? '*',
  })
  const server = createOperationServer({
    edge,
    executor,
    operations: [download, upload, plain] as readonly unknown[] as Operation[],
    principal: null,
    statusMode: 'envelope',
    keepAliveMs: 72_000,
    onError,
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const started: FileServer = {
    url: `http://127.0.0.1:${port}`,
    port,
    server,
    sockets,
    edge,
    executor,
    files,
    seen,
    received,
    broken,
    errors,
    codes,
    take: readAll,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return started
}

async function readAll({ body }: UploadForm): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    hash.update(chunk)
  }
  return { size, sha256: hash.digest('hex') }
}

/** A file of these bytes, in chunks as a disk gives them. */
export function contentOf(bytes: Buffer, more: Partial<FileContent> = {}): FileContent {
  return {
    kind: 'content',
    contentType: 'image/png',
    size: bytes.length,
    etag: createHash('sha256').update(bytes).digest('base64url').slice(0, 22),
    lastModified: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    fileName: null,
    disposition: 'inline',
    maxAgeSeconds: 600,
    open: async (range: ByteRange = { start: 0, end: bytes.length - 1 }) =>
      inChunks(bytes.subarray(range.start, range.end + 1)),
    read: async () => bytes,
    ...more,
  }
}

function inChunks(bytes: Buffer): Readable {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += 65_536) chunks.push(bytes.subarray(at, at + 65_536))
  return Readable.from(chunks, { objectMode: false })
}

export const user = { app_id: 'home', 'access-token': 'hmu_valid' }
export const userInQuery = 'app_id=home&access-token=hmu_valid'

export interface Got {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** The envelope of an answer. */
export function envelopeOf({ body }: Got): { code: number; data: unknown; message: string } {
  return JSON.parse(body.toString())
}

/** Sends one request on a connection of its own. */
export function send(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>> = {},
  body?: Readable | Buffer,
): Promise<Got> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent: false }, async (response) => {
      const chunks = await response.toArray().catch(reject)
      if (!chunks) return
      const { statusCode: status = 0, headers } = response
      resolve({ status, headers, body: Buffer.concat(chunks) })
    })
    request.once('error', reject)
    if (body instanceof Readable) body.pipe(request)
    else request.end(body)
  })
}
