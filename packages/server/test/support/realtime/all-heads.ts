import type { Api, Json } from '@hermod/testkit'

/** The heads of all logs of a user, as the server answers them over HTTP. */
export async function allHeads(api: Api): Promise<Json[]> {
  const heads: Json[] = []
  let cursor: string | undefined
  do {
    const body = { list: true, window: 0, ...(cursor !== undefined && { cursor }) }
    const { data } = await api.succeed<Json>('POST', '/message/sync', { body })
    heads.push(...data.heads)
    cursor = data.cursor
  } while (cursor !== undefined)
  return heads
}
