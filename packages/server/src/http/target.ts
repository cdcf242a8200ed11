/** The target of a request in its origin form: path and query. */

const absoluteForm = /^https?:\/\/[^/?#]*/i

/**
 * @param url as the request line has it: in origin form, or in absolute form, which every server
 * has to take (RFC 9112, section 3.2.2)
 * @returns path and query; anything else unchanged
 */
export function originForm(url: string): string {
  if (url.startsWith('/')) return url
  const [authority] = absoluteForm.exec(url) ?? []
  if (authority === undefined) return url
  const rest = url.slice(authority.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}
