/** Calls of imports from other systems. */
import {
  errorCatalogue,
  type ImportedGroup,
  type ImportedMember,
  type ImportedMessage,
} from '@hermod/protocol'
import type { Answer, Api, Json } from '@hermod/testkit'

export interface Importing {
  readonly appId: string
  readonly operatorToken: string
  readonly api: Api
}

const kinds = {
  group: 'groups',
  message: 'messages',
  member: 'members',
} as const

export interface ImportResults {
  readonly group: ImportedGroup
  readonly message: ImportedMessage
  readonly member: ImportedMember
}

/** Calls one of the imports as an operator. */
export function callImport(
  { api, appId, operatorToken }: Importing,
  kind: keyof typeof kinds,
  items: readonly object[],
  source = 'stream',
): Promise<Answer<Json>> {
  return api.as(operatorToken).call('POST', `/operator/v1/${kind}/import`, {
    body: { app_id: appId, source, [kinds[kind]]: items },
  })
}

/** Imports items, and returns their results. */
export async function importItems<Kind extends keyof typeof kinds>(
  server: Importing,
  kind: Kind,
  items: readonly object[],
  source?: string,
): Promise<ImportResults[Kind][]> {
  const { envelope } = await callImport(server, kind, items, source)
  if (envelope.code !== 200) throw new Error(JSON.stringify(envelope))
  return envelope.data.results
}

/** Imports one group. @returns its ID */
export async function importGroup(
  server: Importing,
  owner_id: number,
  more: object = {},
): Promise<number> {
  const item = { external_id: 'team', owner_id, name: 'Team', ...more }
  const [result] = await importItems(server, 'group', [item])
  return Number(result?.group_id)
}

/** Finishes an import. */
export function finish(
  { api, appId, operatorToken }: Importing,
  source = 'stream',
): Promise<Answer<Json>> {
  const body = { app_id: appId, source }
  return api.as(operatorToken).call('POST', '/operator/v1/import/finish', { body })
}

/** Describes results: `stored`, `known`, or the name of the refusal. */
export function shown(
  results: readonly { readonly result: string; readonly code?: number }[],
): string[] {
  return results.map(({ result, code }) => (code === undefined ? result : nameOf(code)))
}

/** The name of the refusal of a whole call. */
export function failureOf({ envelope }: Answer<Json>): string {
  return nameOf(envelope.code)
}

function nameOf(code: number): string {
  const found = Object.entries(errorCatalogue).find(([, entry]) => entry.code === code)
  return found?.[0] ?? `${code}`
}
