import { createRequire } from 'node:module'

/** The version of this build, as its package names it. */
export const { version } = createRequire(import.meta.url)('../../package.json') as {
  readonly version: string
}
