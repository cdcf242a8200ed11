/**
 * The request of a form of the reference page, without the page.
 *
 * @typedef {{ method: string, path: string, headers: readonly string[],
 *   query: readonly { name: string, required: boolean, example: string }[],
 *   values: Readonly<Record<string, unknown>>, token: string | null, body?: string, file?: true }} Call
 * @typedef {{ headers: Readonly<Record<string, string>>, query: Readonly<Record<string, string>>,
 *   body?: string, file?: Blob }} Input what the reader has written
 */

/**
 * Returns the address and the options of a call. Credentials are in headers only, and a redirect,
 * which might carry them elsewhere, is an error.
 * @param {string} base the address of the service, without a slash at the end
 * @param {Call} call
 * @param {Input} input
 * @throws {Error} when the body is no JSON
 */
export function requestOf(base, call, input) {
  const query = new URLSearchParams(Object.entries(input.query).filter(([, value]) => value !== ''))
  const headers = Object.fromEntries(
    Object.entries(input.headers)
      .map(([name, value]) => [name, value.trim()])
      .filter(([, value]) => value !== ''),
  )
  const search = query.toString()
  return {
    url: `${base}${call.path}${search === '' ? '' : `?${search}`}`,
    init: {
      method: call.method,
      headers:
        call.body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      ...bodyOf(call, input),
      credentials: /** @type {const} */ ('omit'),
      cache: /** @type {const} */ ('no-store'),
      redirect: /** @type {const} */ ('error'),
      referrerPolicy: /** @type {const} */ ('no-referrer'),
    },
  }
}

/** @param {Call} call @param {Input} input */
function bodyOf(call, input) {
  if (call.file) {
    const form = new FormData()
    if (input.file) form.append('file', input.file)
    return { body: form }
  }
  if (call.body === undefined || call.method === 'GET') return {}
  const body = input.body ?? ''
  try {
    JSON.parse(body)
  } catch (error) {
    throw new Error(`The body is not JSON: ${error instanceof Error ? error.message : error}`)
  }
  // As it is written: numbers may be larger than those of this language.
  return { body }
}

/** Indents JSON and changes nothing else, so that 64-bit integers stay exact. @param {string} text */
export function indented(text) {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g) ?? []
  let depth = 0
  let out = ''
  const newLine = () => `\n${'  '.repeat(depth)}`
  for (const [index, token] of tokens.entries()) {
    if (token === '{' || token === '[') {
      depth += 1
      const isEmpty = tokens[index + 1] === '}' || tokens[index + 1] === ']'
      out += isEmpty ? token : token + newLine()
    } else if (token === '}' || token === ']') {
      depth -= 1
      out += tokens[index - 1] === '{' || tokens[index - 1] === '[' ? token : newLine() + token
    } else if (token === ',') out += token + newLine()
    else out += token === ':' ? ': ' : token
  }
  return out
}
