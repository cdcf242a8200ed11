import { createRequire } from 'node:module'

/**
 * Loads modules when they are first needed, for what takes time or memory that many never need. `import()` would remember a failure, such
 * as of descriptors that had run out, as long as the process lives; `require` tries again.
 * @param url of the module that loads, import.meta.url, which names are relative to
 * @returns a function that loads a module by its name, and throws what loading it throws
 */
export function lateLoader(url: string): (name: string) => unknown {
  return createRequire(url)
}
