interface Answer<Data> {
  readonly code: number
  readonly data: Data
  readonly message: string | null
  /** The ID of a sent message. */
  readonly msg_ids?: readonly number[]
}

/** Calls over HTTP for the users of the demo, with the Admin token. */
export class DemoServer {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>

  constructor(url: string, app: { readonly appId: string; readonly adminToken: string }) {
    this.#url = url
    this.#headers = { app_id: app.appId, 'access-token': app.adminToken }
  }

  /**
   * Calls an operation, for a user if one is named.
   * @throws Error when the answer is not 200
   */
  async post<Data = unknown>(path: string, body: unknown, userId?: number): Promise<Data> {
    return (await this.#call<Data>(path, this.#json(body, userId))).data
  }

  /** Sends a message to one target. @returns its ID */
  async send(message: object, userId: number): Promise<number> {
    const { msg_ids } = await this.#call('/message/send', this.#json(message, userId))
    return msg_ids?.[0] ?? 0
  }

  /** Uploads a picture for a direct conversation. @returns its address */
  async uploadPicture(from: number, to: number, picture: Buffer, name: string): Promise<string> {
    const { data: ticket } = await this.#call<{ upload_url: string; download_url: string }>(
      `/file/upload/chat?file_type=102&to_type=1&to_id=${to}`,
      { headers: this.#for(from) },
    )
    const form = new FormData()
    form.append('file', new Blob([new Uint8Array(picture)], { type: 'image/jpeg' }), name)
    const response = await fetch(ticket.upload_url, { method: 'POST', body: form })
    const { data } = (await response.json()) as { data: unknown }
    if (data !== true) throw new Error(`the upload of ${name} failed`)
    return ticket.download_url
  }

  #json(body: unknown, userId: number | undefined): RequestInit {
    return {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...this.#for(userId) },
      body: JSON.stringify(body),
    }
  }

  #for(userId: number | undefined): Record<string, string> {
    return userId === undefined ? {} : { user_id: String(userId) }
  }

  async #call<Data>(path: string, init: RequestInit): Promise<Answer<Data>> {
    const headers = { ...this.#headers, ...init.headers }
    const response = await fetch(this.#url + path, { ...init, headers })
    const answer = (await response.json()) as Answer<Data>
    if (answer.code !== 200) throw new Error(`${path} answered ${answer.code} ${answer.message}`)
    return answer
  }
}
