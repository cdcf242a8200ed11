import { operation } from '../operation.js'
import { ServiceStatus } from '../resources/operator/service-state.js'
import { optional, string } from '../schema.js'
import { get, operatorOperation, post } from './fields.js'

/** Reads the stored state, which other nodes act by within a second. */
export const getServiceStatus = operation({
  ...operatorOperation,
  id: 'operator.maintenance.status',
  methods: get,
  path: '/operator/v1/maintenance/status',
  summary: 'Returns what the service refuses at present.',
  data: ServiceStatus,
})

/**
 * Calls that change something answer 50300 with the text; operators' calls work. The answer comes
 * when the calls that had begun have ended on all nodes: with several nodes after up to 10 seconds,
 * and 50300 after 20 seconds. Work in the background continues.
 */
export const beginMaintenance = operation({
  ...operatorOperation,
  id: 'operator.maintenance.on',
  methods: post,
  path: '/operator/v1/maintenance/on',
  summary: 'Refuses everything that changes something, until maintenance is off.',
  body: {
    text: optional(
      string({ description: 'what callers read; default: maintenance', maxLength: 256 }),
    ),
  },
  data: ServiceStatus,
  errors: ['restore_unfinished'],
})

/** Callers that were refused succeed with their next try. */
export const endMaintenance = operation({
  ...operatorOperation,
  id: 'operator.maintenance.off',
  methods: post,
  path: '/operator/v1/maintenance/off',
  summary: 'Takes everything again.',
  data: ServiceStatus,
  errors: ['restore_unfinished'],
})
