/** Holds of files, which a backup takes: no node removes a blob meanwhile. */
import { deleteFile } from '@hermod/protocol'
import { testBackends, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { blobsIn, fileIdOf, png, sendFile } from '../support/files/files.js'
import { ownServer } from '../support/in-process-server.js'
import { sessions } from '../support/messaging/messaging.js'

const heldMs = 2_500

describe.each(testBackends())('a hold of files on $name', (backend) => {
  const server = ownServer(backend)

  it('keeps the blob of a removed file until it ends', async () => {
    const { sql } = server
    const [alice, bob] = await sessions(server, 2)
    const fileId = fileIdOf(await sendFile(alice.api, { to_id: bob.id }, png))
    const endsAt = Date.now() + heldMs
    await sql.run(`insert into file_holds (hold_id, expires_at) values ('another node', ${endsAt})`)
    const operator = server.api.as(server.operatorToken)
    await operator.succeed('POST', deleteFile.path, {
      body: { app_id: server.appId, file_id: fileId },
    })
    const removals = () =>
      sql.run("select 1 from jobs where kind = 'blob_removal' and outcome = '' and owner <> ''")
    await waitFor(async () => (await removals()).length > 0, {
      what: 'the job that removes it',
      timeoutMs: 20_000,
    })
    expect(blobsIn(server.dataDir)).toHaveLength(1)
    await waitFor(() => blobsIn(server.dataDir).length === 0, {
      what: 'its removal',
      timeoutMs: 20_000,
    })
    expect(Date.now()).toBeGreaterThanOrEqual(endsAt)
  })
})
