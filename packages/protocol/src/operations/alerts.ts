import { operation } from '../operation.js'
import { AlertList, AlertTest } from '../resources/operator/alerts.js'
import { get, operatorOperation, post } from './fields.js'

/** Looks at every condition. */
export const listAlerts = operation({
  ...operatorOperation,
  id: 'operator.alert.list',
  methods: get,
  path: '/operator/v1/alert/list',
  summary: 'Lists the conditions that raise alerts, with the last alert of each.',
  data: AlertList,
})

/** Also when no condition holds, and as often as it is called. */
export const testAlert = operation({
  ...operatorOperation,
  id: 'operator.alert.test',
  methods: post,
  path: '/operator/v1/alert/test',
  summary: 'Sends an alert of the type alert.test to the receiver.',
  data: AlertTest,
  errors: ['alerts_unset'],
})
