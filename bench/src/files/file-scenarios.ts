/** Scenarios of files, with their targets. */

/** Uploads or downloads of one size, with their target. */
export interface FileScenario {
  readonly name: string
  readonly kind: 'upload' | 'download'
  /** Size of a file. */
  readonly bytes: number
  readonly connections: number
  /** Target share of the bare server's rate. */
  readonly share: number
}

const small = 10 * 1024
const large = 10 * 1024 * 1024

/** Downloads read files that earlier uploads stored. */
export const fileScenarios: readonly FileScenario[] = [
  { name: 'upload-10k', kind: 'upload', bytes: small, connections: 64, share: 0.5 },
  { name: 'upload-10m', kind: 'upload', bytes: large, connections: 8, share: 0.5 },
  { name: 'download-10k', kind: 'download', bytes: small, connections: 64, share: 0.4 },
  { name: 'download-10m', kind: 'download', bytes: large, connections: 8, share: 0.7 },
]

/** Maximum that the bare server stores in a run: bytes and files. */
export const maxStored = { bytes: 4e9, files: 50_000 }
