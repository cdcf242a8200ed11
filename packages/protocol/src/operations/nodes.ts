import { operation } from '../operation.js'
import { NodeList } from '../resources/operator/nodes.js'
import { string } from '../schema.js'
import { done, get, operatorOperation, post } from './fields.js'

const whichNode = {
  node_id: string({ description: 'ID of the node', minLength: 1, maxLength: 64 }),
}

/** Figures of the last heartbeats of the nodes. */
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

/**
 * The node hears of it with its next heartbeat. `/readyz` answers 503 from then on, its share of the
 * background work goes to other nodes, and after a pause for balancers its sessions are closed a few
 * at a time. At last the process ends with exit code 0.
 */
export const drainNode = operation({
  ...operatorOperation,
  id: 'operator.node.drain',
  methods: post,
  path: '/operator/v1/node/drain',
  summary: 'Lets a node finish its work and end.',
  body: whichNode,
  data: done,
  errors: ['node_not_found'],
})
