import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { DiskFloor } from '../../blobs/disk-floor.js'
import { markPath, readMark, writeMark } from '../../blobs/folder-mark.js'
import { FolderStore } from '../../blobs/folder-store.js'
import { NoStore } from '../../blobs/no-store.js'
import type { ServerConfig } from '../../config/config.js'
import { options } from '../../config/options.js'
import type { Database, Tx } from '../../db/database.js'
import type { FilesFolder, IdentityStore } from '../../db/identity/identity-store.js'
import { makeFolder } from '../../lib/system/make-folder.js'
import { giveHeartbeats, listLiveNodes } from '../../nodes/live-nodes.js'
import { nodeIdOf } from '../../nodes/node-id.js'

export interface FilesParts {
  readonly database: Database
  readonly identity: IdentityStore
  readonly floor: DiskFloor
  /** The node may mark the folder and note it: it is a service and no command. */
  readonly mayClaim: boolean
}

/** A node that wants to serve the files of a folder. */
export interface FilesClaim {
  readonly folder: string
  readonly isShared: boolean
  readonly nodeId: string
  /** The other nodes that are live. */
  readonly others: readonly string[]
}

/** The mark in the folder, and the row of the database. */
export interface FoundFolder {
  /** The mark in the folder; null for none. */
  readonly own: string | null
  readonly epoch: string
  /** Null: the database notes no folder yet. */
  readonly noted: FilesFolder | null
}

/** Why a node does not serve the files. */
export interface FilesProblem {
  /** A sentence for operators. */
  readonly text: string
  /** The nodes without which there would be no problem. */
  readonly because: readonly string[]
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
  await makeFolder(folder)
  const nodeId = nodeIdOf(dataDir)
  const live = (await listLiveNodes(database)).map(({ id }) => id).filter((id) => id !== nodeId)
  const decide = (others: readonly string[]) =>
    database.transaction((tx) =>
      claim(tx, { claimed: { folder, isShared, nodeId, others }, identity, mayClaim }),
    )
  let problem = await decide(live)
  const { because = [] } = problem ?? {}
  // A killed node seems live for a while: its folder is not to stay without a node until the next start.
  if (mayClaim && because.length > 0 && !(await giveHeartbeats(database, because)))
    problem = await decide(live.filter((id) => !because.includes(id)))
  return problem === null
    ? FolderStore.open(folder, floor, { id: nodeId, live })
    : new NoStore(folder, problem.text)
}

interface ClaimOptions extends Pick<FilesParts, 'identity' | 'mayClaim'> {
  readonly claimed: FilesClaim
}

/** @returns null for a node that serves the files */
async function claim(
  tx: Tx,
  { claimed, identity, mayClaim }: ClaimOptions,
): Promise<FilesProblem | null> {
  const { folder, isShared } = claimed
  const { epoch, folder: noted } = await identity.lockFilesFolder(tx)
  // Read after the lock: another node may just have written it.
  const own = await readMark(folder)
  const problem = filesProblem(claimed, { own, epoch, noted })
  if (problem !== null || !mayClaim) return problem
  const mark = own ?? `${epoch}/${randomUUID()}`
  const nodeId = isShared ? null : claimed.nodeId
  if (own === null) await writeMark(folder, mark)
  if (noted?.mark !== mark || noted.nodeId !== nodeId)
    await identity.setFilesFolder(tx, { mark, nodeId })
  return null
}

/** @returns null for a node that serves the files */
export function filesProblem(
  { folder, isShared, others }: FilesClaim,
  { own, epoch, noted }: FoundFolder,
): FilesProblem | null {
  const { filesDir, filesShared, s3Endpoint } = options
  const remedy = `mount one folder on every node, set ${filesDir.name} to it and ${filesShared.name}=on, or set ${s3Endpoint.name}, and start this node again`
  const path = markPath(folder)
  if (noted === null) {
    // A start that was killed may have left a mark that the database does not know yet.
    if (own === null || own.startsWith(`${epoch}/`)) return null
    const text = `${folder} has the files of another database; set ${filesDir.name} to another folder, or remove ${path} if that database does not exist any more`
    return { text, because: [] }
  }
  if (own !== noted.mark) {
    const text = `the files are in another folder than ${folder}; ${remedy}; if that folder is lost, write ${noted.mark} into ${path}`
    return { text, because: [] }
  }
  const having = noted.nodeId === null ? others : others.filter((id) => id === noted.nodeId)
  if (isShared || having.length === 0) return null
  const text =
    noted.nodeId === null
      ? `other nodes share the folder that has the files; set ${filesShared.name}=on here too if it is ${folder}, or ${remedy}`
      : `node ${noted.nodeId} has the files in a folder of its own; ${remedy}`
  return { text, because: having }
}
