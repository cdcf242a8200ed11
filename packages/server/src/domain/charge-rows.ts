/** Charges the caller for rows that a read looks at beyond its answer (rule A2b). */
export type ChargeRows = (rows: number) => void
