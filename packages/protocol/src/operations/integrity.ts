import { operation } from '../operation.js'
import { CheckReport } from '../resources/integrity.js'
import { operatorOperation, post } from './fields.js'

export const checkIntegrity = operation({
  ...operatorOperation,
  id: 'operator.check',
  methods: post,
  path: '/operator/v1/check',
  summary: 'Checks every derived fact against its log.',
  data: CheckReport,
})
