/** The keys of addresses of files, for tests that know the secret key of the service. */
import { SecretBox } from '../../../dist/lib/secrets/secret-box.js'
import { SecretKeys } from '../../../dist/lib/secrets/secret-keys.js'
import type { Sql } from '../database/sql.js'

const column = 'apps.file_link_key'

function boxOf(secretKey: string): SecretBox {
  return new SecretBox(new SecretKeys(Buffer.from(secretKey)))
}

/** @returns the key that the addresses of an application are signed with */
export async function fileLinkKeyOf(sql: Sql, appId: string, secretKey: string): Promise<Buffer> {
  const [row] = await sql.run(`select file_link_key from apps where app_id = '${appId}'`)
  const text = boxOf(secretKey).open(String(row?.file_link_key), { column, row: appId })
  return Buffer.from(text, 'base64url')
}

/** As another node renews the key, which this one hears of by its database alone. */
export async function plantFileLinkKey(
  sql: Sql,
  appId: string,
  { key, secretKey }: { readonly key: Buffer; readonly secretKey: string },
): Promise<void> {
  const sealed = boxOf(secretKey).seal(key.toString('base64url'), { column, row: appId })
  await sql.run(`update apps set file_link_key = '${sealed}' where app_id = '${appId}'`)
}
