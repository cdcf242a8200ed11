/** The forms of HERMOD_DATABASE_URL that no connection can be made with, found before one is tried. */

const form = /^postgres(?:ql)?:\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?$/s
/** Parameters of other clients that name a schema. The driver ignores them. */
const schemaNames = ['schema', 'currentSchema', 'search_path']

/**
 * Returns the end of a sentence about a URL that is not accepted, or null. A raw `@` in the password
 * is accepted: the last one before the path ends it. The sentence never quotes the URL.
 */
export function databaseUrlProblem(url: string): string | null {
  if (/\s/.test(url)) return 'must not contain spaces; write %20'
  const [, authority = '', path = '', query = '', fragment = ''] = form.exec(url) ?? []
  if (!form.test(url)) return 'must be a postgres:// or postgresql:// URL'
  const credentials = authority.slice(0, Math.max(0, authority.lastIndexOf('@')))
  const hosts = authority.slice(authority.lastIndexOf('@') + 1)
  if (fragment !== '' || path.includes('@') || (query.includes('@') && credentials === ''))
    return 'has a raw /, # or ? in its user or password; write %2F, %23 or %3F'
  if (hosts.includes(',') || /(^|&)host=[^&]*(,|%2c)/i.test(query))
    return 'names several hosts; name one, such as the one of a pooler that finds the primary'
  if (path.slice(1).includes('/')) return 'has a raw / in the name of its database; write %2F'
  const parameters = new URLSearchParams(query)
  const schema = schemaNames.find((name) => parameters.has(name))
  if (schema !== undefined)
    return `has the parameter ${schema}, which has no effect; write options=-c%20search_path%3D and the name of the schema`
  // Without a host the driver connects to a socket.
  const isParsed = hosts === '' || URL.canParse(`postgres://${hosts}`)
  if (!isParsed) return 'has a host or port that cannot be read'
  return isDecodable(credentials) && isDecodable(path)
    ? null
    : 'has a raw % in its user, password or database; write %25'
}

/** The driver too leaves a % alone that no two hexadecimal digits follow. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text.replace(/%(?![\da-f]{2})/gi, '%25'))
    return true
  } catch {
    return false
  }
}
