import type { NodeFigure } from './node-figures.js'

/** The space of the disk of a node, in bytes. */
export interface DiskFigures {
  readonly free: number
  /** The free space below which the node stores no files. */
  readonly floor: number
}

/**
 * Reports the disk as it was at the last heartbeat, so that a disk that does not answer holds up
 * neither the heartbeat nor the event loop.
 */
export class NodeDisk implements NodeFigure<DiskFigures | null> {
  #last: DiskFigures | null = null
  #isReading = false

  constructor(private readonly read: () => Promise<DiskFigures>) {}

  /** @returns null while the disk does not answer */
  own(): DiskFigures | null {
    if (this.#isReading) return null
    void this.#read()
    return this.#last
  }

  async #read(): Promise<void> {
    this.#isReading = true
    try {
      const { free, floor } = await this.read()
      this.#last = { free, floor }
    } catch {
      this.#last = null
    } finally {
      this.#isReading = false
    }
  }
}
