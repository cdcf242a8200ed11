import { KeyCheckStore } from '../../domain/secrets/key-check-store.js'
import {
  type KeyFile,
  type SealedColumn,
  SecretService,
} from '../../domain/secrets/secret-service.js'
import type { SecretBox } from '../../lib/secrets/secret-box.js'
import type { SecretKeys } from '../../lib/secrets/secret-keys.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

/**
 * @param options.columns every column of secrets
 * @param options.keyFile null: the keys come from the settings
 */
export function createSecrets(
  { database, node, stores }: Infrastructure,
  {
    columns,
    secretKeys,
    secretBox,
    keyFile,
  }: {
    readonly columns: readonly SealedColumn[]
    readonly secretKeys: SecretKeys
    readonly secretBox: SecretBox
    readonly keyFile: KeyFile | null
  },
) {
  const listOtherNodes = async () => {
    if (database.dialect.name === 'sqlite') return []
    const nodes = await stores.nodes.list()
    return nodes
      .filter(({ nodeId, state }) => nodeId !== node.id && state !== 'dead')
      .map(({ nodeId }) => nodeId)
  }
  const secretService = new SecretService({
    database,
    keys: secretKeys,
    keyFile,
    box: secretBox,
    keyChecks: new KeyCheckStore(),
    columns,
    listOtherNodes,
  })
  return { services: { secretService } } satisfies Domain
}
