/** The page of docs/reference on the scopes of Admin tokens. Pure, as the other pages. */
import { callerRules, type Operation, scopes } from '@hermod/protocol'
import { code, markdownPage, markdownTable } from './render.js'

export function renderScopes(operations: readonly Operation[]): string {
  const forAdmins = operations.filter(({ callers }) =>
    callerRules[callers].tokens.includes('admin'),
  )
  const withScope = (name: string) =>
    forAdmins.filter((operation) => operation.scopes.some((each) => each === name))
  const rows = Object.entries(scopes).map(([name, reach]) => [
    code(name),
    reach,
    String(withScope(name).length),
  ])
  const unscoped = forAdmins.filter((operation) => operation.scopes.length === 0)
  return markdownPage('Scopes of Admin tokens', [
    'An Admin token has all scopes, also those of later versions, or those of a list. An operation needs the scopes of what it reaches, all of them; a call without one is answered 10010, which names the scope. The headers `user_id` and `group_id` neither add nor take a scope. [Security](../guides/security.md#scopes) shows how to set them.',
    markdownTable(['Scope', 'Reaches at most', 'Operations'], rows),
    `An Admin token needs no scope for ${unscoped.map(({ id }) => code(id)).join(' and ')}, which need no token either.`,
    ...Object.keys(scopes).flatMap((name) => [
      `## ${name}`,
      withScope(name)
        .map((operation) => `- ${entry(operation, name)}`)
        .join('\n'),
    ]),
  ])
}

function entry({ id, methods, path, scopes }: Operation, name: string): string {
  const others = scopes.filter((each) => each !== name)
  const at = path === '' ? '' : `: ${methods.join(' | ')} ${code(path)}`
  return `${code(id)}${at}${others.length === 0 ? '' : `, together with ${others.map(code).join(', ')}`}`
}
