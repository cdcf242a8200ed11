import { statfsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { BlobError } from './blob-store.js'

/** The space of a disk, in bytes. */
export interface DiskSpace {
  readonly free: number
  /** The free space below which nothing is stored. */
  readonly floor: number
}

const currentMs = 1_000
/** Small disks keep a tenth. */
const largestShare = 0.1

/** Keeps space of a disk free for the database: the stores write nothing more below the floor. */
export class DiskFloor {
  #checkedAt = Number.NEGATIVE_INFINITY
  #isReached = false

  /**
   * @param bytes the floor, at most a tenth of the disk
   * @param added raises the floor by what the database is going to write
   */
  constructor(
    private readonly folder: string,
    private readonly bytes: number,
    private readonly added: () => number = () => 0,
  ) {}

  /** Returns the space now. @throws the error of the file system */
  get space(): DiskSpace {
    return this.#spaceOf(statfsSync(this.folder))
  }

  /** Reads the space without holding up the event loop. @throws the error of the file system */
  async readSpace(): Promise<DiskSpace> {
    return this.#spaceOf(await statfs(this.folder))
  }

  /** Checks the space of at most a second ago. @throws BlobError full; the error of the file system */
  async requireRoom(): Promise<void> {
    const now = performance.now()
    if (now - this.#checkedAt > currentMs) {
      this.#checkedAt = now
      const { free, floor } = await this.readSpace()
      this.#isReached = free < floor
    }
    if (this.#isReached) throw new BlobError('full', 'the disk has less free space than its floor')
  }

  #spaceOf({
    bavail,
    blocks,
    bsize,
  }: {
    bavail: number
    blocks: number
    bsize: number
  }): DiskSpace {
    const floor = Math.min(this.bytes, Math.floor(blocks * bsize * largestShare))
    return { free: bavail * bsize, floor: floor + this.added() }
  }
}
