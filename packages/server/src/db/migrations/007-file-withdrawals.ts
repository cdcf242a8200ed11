import { runStatements } from './run-statements.js'

/** The files of recalled messages, which close for their recipients at once (rule J3). */
export const fileWithdrawals = runStatements([
  `create table file_withdrawals (
  app_id text not null,
  file_id text not null,
  low_id bigint not null,
  high_id bigint not null,
  msg_id bigint not null,
  sender_id bigint not null,
  primary key (app_id, file_id, low_id, high_id, msg_id))`,
])
