import { randomBytes } from 'node:crypto'
import type { ServerProcess, Session } from '@hermod/testkit'
import { requestHead } from '../load/plan.js'

/** Upload path of one file, and its later download path, with their queries. */
export interface Ticket {
  readonly upload: string
  readonly download: string
  readonly user: Session
}

const askedAtOnce = 16
const boundary = 'a-boundary-of-the-benchmark'

/** Requests of users who send files to one another. */
export class BenchCaller {
  #turn = 0

  constructor(
    private readonly server: ServerProcess,
    private readonly users: readonly Session[],
  ) {}

  /** Returns tickets of the users in turn, each for the next user. */
  async tickets(count: number): Promise<Ticket[]> {
    const tickets: Ticket[] = []
    const worker = async () => {
      while (this.#turn - start < count) tickets.push(await this.#ticket(this.#turn++))
    }
    const start = this.#turn
    await Promise.all(Array.from({ length: askedAtOnce }, worker))
    return tickets
  }

  async #ticket(turn: number): Promise<Ticket> {
    const [user, other] = [0, 1].map((ahead) => this.users[(turn + ahead) % this.users.length])
    if (!user || !other) throw new Error('there are no users')
    const query = { file_type: 100, to_id: other.id, to_type: 1 }
    const { data } = await user.api.succeed('GET', '/file/upload/chat', { query })
    return { upload: callerPath(data.upload_url), download: callerPath(data.download_url), user }
  }

  downloadHead({ download, user }: Ticket): string {
    return `${requestHead('GET', download, { appId: this.server.appId, user })}\r\n`
  }
}

/** @param path of any server that accepts the form */
export function uploadHead(path: string, body: Uint8Array): string {
  return `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: multipart/form-data; boundary=${boundary}\r\ncontent-length: ${body.length}\r\n\r\n`
}

/** Builds a form with a file of the given size. */
export function uploadBody(bytes: number): Uint8Array {
  return Buffer.concat([
    Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="bench.bin"\r\ncontent-type: application/octet-stream\r\n\r\n`,
    ),
    randomBytes(bytes),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
}

function callerPath(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}
