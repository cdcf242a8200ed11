/** Calls of an operation in TypeScript, from its recorded request. */
import { isWholeBody, type Operation } from '@hermod/protocol'
import type { ReferenceOperation } from '@hermod/protocol/openapi'

const lineWidth = 76

/**
 * Writes a value as JSON, or as a literal of TypeScript, with short parts on one line.
 * @param used characters of the first line before the value
 */
export function written(
  value: unknown,
  language: 'json' | 'ts',
  indent = '',
  used = indent.length,
): string {
  const single = writtenShort(value, language)
  const isPart = typeof value === 'object' && value !== null && single.length > 2
  if (!isPart || single.length + used <= lineWidth) return single
  const inner = `${indent}  `
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const parts = Array.isArray(value)
    ? value.map((item) => written(item, language, inner))
    : membersOf(value).map(
        ([name, member]) => `${key(name, language)}: ${written(member, language, inner)}`,
      )
  const comma = language === 'ts' ? ',' : ''
  return `${open}\n${parts.map((part) => `${inner}${part}`).join(',\n')}${comma}\n${indent}${close}`
}

function writtenShort(value: unknown, language: 'json' | 'ts'): string {
  if (Array.isArray(value))
    return `[${value.map((item) => writtenShort(item, language)).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const members = membersOf(value).map(
      ([name, member]) => `${key(name, language)}: ${writtenShort(member, language)}`,
    )
    return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
  }
  return typeof value === 'string' ? text(value, language) : JSON.stringify(value)
}

function membersOf(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, member]) => member !== undefined)
}

function key(name: string, language: 'json' | 'ts'): string {
  return language === 'ts' && /^[a-zA-Z_$][\w$]*$/.test(name) ? name : text(name, language)
}

function text(value: string, language: 'json' | 'ts'): string {
  const json = JSON.stringify(value)
  if (language === 'json') return json
  return `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

const tokenVariables = { user: 'token', admin: 'adminToken', operator: 'operatorToken' }

/** A call with fetch. */
export function fetchCall(described: ReferenceOperation, operation: Operation): string {
  const { method, path, request, answersFile } = described
  const { namesApp, token, search } = request
  const headers = [
    namesApp ? 'app_id: appId' : '',
    token === null ? '' : `'access-token': ${tokenVariables[token]}`,
    ...Object.entries(request.headers).map(([name, value]) => `${name}: '${value}'`),
    request.body === undefined ? '' : "'content-type': 'application/json'",
  ].filter((header) => header !== '')
  const body = operation.takesFile
    ? 'form'
    : request.body !== undefined && `JSON.stringify(${written(request.body, 'ts', '  ', 25)})`
  return [
    ...(operation.takesFile
      ? ['const form = new FormData()', "form.append('file', file, 'picture.png')"]
      : []),
    `const response = await fetch(\`\${url}${path}${search}\`, {`,
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length === 0 ? [] : [`  headers: { ${headers.join(', ')} },`]),
    ...(body ? [`  body: ${body},`] : []),
    '})',
    answersFile
      ? 'const file = await response.blob()'
      : 'const { code, data, message } = await response.json()',
  ].join('\n')
}

/** A call with `@hermod/client`; null: the client does not have the operation. */
export function clientCall({ request }: ReferenceOperation, operation: Operation): string | null {
  if (operation.socket === false) return null
  const { query, headers, body } = request
  const parameters = {
    ...query,
    ...(isWholeBody(operation.body) ? { [operation.body.whole]: body } : (body as object)),
  }
  const acting = headers.user_id === undefined ? '' : `, { userId: ${headers.user_id} }`
  const extras = Object.keys(operation.extras)
  const names = ['data', ...extras].join(', ')
  const call = `const { ${names} } = await client.call('${operation.id}', `
  return `${call}${written(parameters, 'ts', '', call.length)}${acting})`
}
