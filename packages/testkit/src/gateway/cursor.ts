/** The `pos` that a client keeps, and whether it must sync before it may keep the pos of a frame. */
export class Cursor {
  /** The position from which the next sync starts; '' = from the beginning. */
  pos: string
  #requests = 0
  #synced = 0

  constructor(pos = '') {
    this.pos = pos
  }

  /** False from `sync.needed`, or an open that was not current, until a sync has been committed. */
  get isCurrent(): boolean {
    return this.#requests === this.#synced
  }

  /** Applies the answer of `session.open`. After a reset the client drops its store too. */
  open({ sync, pos }: { readonly sync: string; readonly pos?: string }): void {
    if (sync === 'current' && pos !== undefined) {
      this.pos = pos
      this.#synced = this.#requests
      return
    }
    if (sync === 'reset') this.pos = ''
    this.requestSync()
  }

  /** Notes a `sync.needed`; a sync in progress is followed by another one. */
  requestSync(): void {
    this.#requests++
  }

  /** Keeps the pos of a frame, unless a sync has to be committed first. */
  advance(pos: string): void {
    if (this.isCurrent) this.pos = pos
  }

  /**
   * Syncs until the server asks for no further one.
   * @param sync commits a sync that starts at a pos and returns the pos that it reached
   */
  async sync(sync: (pos: string) => Promise<string>): Promise<void> {
    do {
      const requests = this.#requests
      this.pos = await sync(this.pos)
      this.#synced = Math.max(this.#synced, requests)
    } while (!this.isCurrent)
  }
}
