import { operation } from '../operation.js'
import { NodeList } from '../resources/operator/nodes.js'
import { string } from '../schema.js'
import { done, get, operatorOperation, post } from './fields.js'

const whichNode = {
  node_id: string({ description: 'ID of the node', minLength: 1, maxLength: 64 }),
}

/** As the nodes told with their last heartbeats. */
export const listNodes = operation({
  ...operatorOperation,
  id: 'operator.node.list',
  methods: get,
  path: '/operator/v1/node/list',
  summary: 'Lists the nodes of the service.',
  data: NodeList,
})

/** Its row alone; its work is with other nodes already. */
export const removeNode = operation({
  ...operatorOperation,
  id: 'operator.node.remove',
  methods: post,
  path: '/operator/v1/node/remove',
  summary: 'Removes a dead node from the list.',
  body: whichNode,
  data: done,
  errors: ['node_not_found', 'node_lives'],
})
