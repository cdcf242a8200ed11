import { createRequire } from 'node:module'

/**
 * Loads modules when they are first needed, for libraries that cost time or memory. `import()`
 * would remember a failure, such as a lack of descriptors, for the life of the process; `require`
 * tries again.
 * @param url of the loading module, import.meta.url, which names are relative to
 * @returns a function that loads a module by its name, and throws the errors of loading it
 */
export function lateLoader(url: string): (name: string) => unknown {
  return createRequire(url)
}
