import { randomBytes, scryptSync } from 'node:crypto'
import type { Api } from '@hermod/testkit'

const listLength = 500
/** Password of the users of {@link createImportedUsers}. */
export const importedPassword = 'correct horse battery'

/**
 * Imports users with one ready hash for all, as from another system.
 * @returns the IDs in the order of the names
 */
export async function createImportedUsers(
  operator: Api,
  appId: string,
  name: string,
  count: number,
): Promise<number[]> {
  const password_hash = scryptHash()
  const entries = Array.from({ length: count }, (_, index) => ({
    username: `${name}_${index}`,
    nick_name: `${name} ${index}`,
    password_hash,
  }))
  const ids: number[] = []
  for (const list of lists(entries)) {
    const { data } = await operator.succeed('POST', '/operator/v1/user/import', {
      body: { app_id: appId, users: list },
    })
    const imported = data as {
      username: string
      result: string
      reason?: string
      user_id?: number
    }[]
    const failed = imported.find(({ result }) => result !== 'created')
    if (failed)
      throw new Error(`importing ${failed.username}: ${failed.result} ${failed.reason ?? ''}`)
    ids.push(...imported.map(({ user_id }) => Number(user_id)))
  }
  return ids
}

function scryptHash(): string {
  const salt = randomBytes(16)
  const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  return `$scrypt$ln=10,r=8,p=1$${unpadded(salt)}$${unpadded(scryptSync(importedPassword, salt, 32, { N: 1024, r: 8, p: 1 }))}`
}

/** Cuts a list into the chunks of one call. */
export function lists<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / listLength) }, (_, index) =>
    items.slice(index * listLength, (index + 1) * listLength),
  )
}
