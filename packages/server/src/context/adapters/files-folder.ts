import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { DiskFloor } from '../../blobs/disk-floor.js'
import { markPath, readMark, writeMark } from '../../blobs/folder-mark.js'
import { FolderStore } from '../../blobs/folder-store.js'
import { NoStore } from '../../blobs/no-store.js'
import type { ServerConfig } from '../../config/config.js'
import { options } from '../../config/options.js'
import type { Database, Tx } from '../../db/database.js'
import type { FilesFolder, IdentityStore } from '../../db/identity/identity-store.js'
import { listLiveNodes } from '../../nodes/live-nodes.js'
import { nodeIdOf } from '../../nodes/node-id.js'

export interface FilesParts {
  readonly database: Database
  readonly identity: IdentityStore
  readonly floor: DiskFloor
  /** The node may mark the folder and note it: it is a service and no command. */
  readonly mayClaim: boolean
}

interface Node {
  readonly id: string
  readonly live: readonly string[]
}

interface Claim {
  readonly folder: string
  readonly isShared: boolean
  readonly node: Node
  readonly mayClaim: boolean
}

interface Found {
  /** The mark in the folder; null for none. */
  readonly own: string | null
  readonly epoch: string
  /** Null: the database notes no folder yet. */
  readonly noted: FilesFolder | null
}

/**
 * Opens the store of files in a folder, or one that refuses everything where this node does not
 * serve them. The rule: a node serves files when its folder has the mark that the database notes, and
 * shares it, or no other live node has it. The first node on a database marks its folder
 * and notes the mark. So a node with another folder serves none, whichever nodes run, and neither
 * does one whose folder is not mounted.
 *
 * The row of the database is locked meanwhile, so nodes that start together decide one by one. The
 * lock of the data folder covers the folder of the files where both belong to an embedded database.
 */
export async function openFilesFolder(
  { dataDir, storage }: ServerConfig,
  { folder, isShared }: { readonly folder: string; readonly isShared: boolean },
  { database, identity, floor, mayClaim }: FilesParts,
): Promise<FolderStore | NoStore> {
  if (storage.kind === 'sqlite' && folder === join(dataDir, 'files'))
    return FolderStore.open(folder, floor)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const live = (await listLiveNodes(database)).map(({ id }) => id)
  const node = { id: nodeIdOf(dataDir), live }
  const problem = await database.transaction((tx) =>
    claim(tx, identity, { folder, isShared, node, mayClaim }),
  )
  return problem === null ? FolderStore.open(folder, floor, node) : new NoStore(folder, problem)
}

/** @returns null for a node that serves the files, else the reason, a sentence for operators */
async function claim(tx: Tx, identity: IdentityStore, claimed: Claim): Promise<string | null> {
  const { folder, isShared, node, mayClaim } = claimed
  const { epoch, folder: noted } = await identity.lockFilesFolder(tx)
  // Read after the lock: another node may just have written it.
  const own = await readMark(folder)
  const problem = problemOf(claimed, { own, epoch, noted })
  if (problem !== null || !mayClaim) return problem
  const mark = own ?? `${epoch}/${randomUUID()}`
  const nodeId = isShared ? null : node.id
  if (own === null) await writeMark(folder, mark)
  if (noted?.mark !== mark || noted.nodeId !== nodeId)
    await identity.setFilesFolder(tx, { mark, nodeId })
  return null
}

function problemOf({ folder, isShared, node }: Claim, { own, epoch, noted }: Found): string | null {
  const { filesDir, filesShared, s3Endpoint } = options
  const remedy = `mount one folder on every node, set ${filesDir.name} to it and ${filesShared.name}=on, or set ${s3Endpoint.name}`
  const path = markPath(folder)
  if (noted === null) {
    // A start that was killed may have left a mark that the database does not know yet.
    if (own === null || own.startsWith(`${epoch}/`)) return null
    return `${folder} has the files of another database; set ${filesDir.name} to another folder, or remove ${path} if that database does not exist any more`
  }
  const { mark, nodeId } = noted
  if (own !== mark)
    return `the files are in another folder than ${folder}; ${remedy}; if that folder is lost, write ${mark} into ${path}`
  if (isShared) return null
  const others = node.live.filter((id) => id !== node.id)
  if (nodeId === null && others.length > 0)
    return `other nodes share the folder that has the files; set ${filesShared.name}=on here too if it is ${folder}, or ${remedy}`
  if (nodeId === null || !others.includes(nodeId)) return null
  return `node ${nodeId} has the files in a folder of its own; ${remedy}; if that node is gone, start this one again in a minute`
}
