import { Socket } from 'node:net'

/** A TCP connection that the test cuts after any byte. */
export class CuttableSocket extends Socket {
  #bytesLeft = Number.POSITIVE_INFINITY

  /** Cuts the connection once so many further bytes have been read; 0 = at the next one. */
  cutAfter(bytes: number): void {
    this.#bytesLeft = bytes
  }

  override push(chunk: Buffer | null): boolean {
    if (chunk === null || chunk.length <= this.#bytesLeft) {
      this.#bytesLeft -= chunk?.length ?? 0
      return super.push(chunk)
    }
    if (this.#bytesLeft > 0) super.push(chunk.subarray(0, this.#bytesLeft))
    this.#bytesLeft = 0
    this.destroy()
    return false
  }
}
