const name = /^[a-z0-9_-][a-z0-9._-]*$/
const maxLength = 200

/** Whether a store takes it as a key, see BlobStore. */
export function isKey(key: string): boolean {
  return key.length <= maxLength && key.split('/').every((part) => name.test(part))
}

/** Throws a RangeError for a key that is none (see BlobStore), so that no key leads out of a folder or means two things. */
export function assertKey(key: string): void {
  if (!isKey(key))
    throw new RangeError(`no key of a blob: ${JSON.stringify(key.slice(0, maxLength))}`)
}

/** Throws a RangeError for what no key can begin with; "" begins all. */
export function assertPrefix(prefix: string): void {
  if (prefix !== '') assertKey(prefix.endsWith('/') ? prefix.slice(0, -1) : prefix)
}
