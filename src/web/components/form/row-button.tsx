interface Props {
  label: string
  /** The label with the name of the row, for screen readers. */
  name: string
  quiet?: boolean
  onClick(): void
}

/** A button that is in every row of a list. */
export const RowButton = ({ label, name, quiet, onClick }: Props) => (
  <button type="button" className={quiet ? 'btn small quiet' : 'btn small'} aria-label={name} onClick={onClick}>
    {label}
  </button>
)
