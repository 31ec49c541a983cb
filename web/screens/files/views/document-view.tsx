/** Shows workbooks as tables, and other office documents as their text. */

import { useState } from 'preact/hooks'
import { readSheets } from '../../../model/csv.ts'
import { Markdown } from '../../../markdown/draw.tsx'
import { Choice } from '../../../parts/form.tsx'
import { Panel, useLoad } from '../../../parts/load.tsx'
import { t } from '../../../words/words.ts'
import { type FilePlace, readDocument } from '../file-content.ts'
import { DataTable } from './data-table.tsx'

type Props = { readonly place: FilePlace }

export function DocumentView({ place }: Props) {
  const found = useLoad(() => readDocument(place), place.path)
  return <Panel of={found}>{({ text }) => <Markdown text={text} />}</Panel>
}

export function SheetsView({ place }: Props) {
  const found = useLoad(async () => readSheets((await readDocument(place)).text), place.path)
  const [chosen, choose] = useState('0')
  return (
    <Panel of={found}>
      {(sheets) => {
        const sheet = sheets[Number(chosen)] ?? sheets[0]
        if (!sheet) return <p class="note">{t('noPreview')}</p>
        return (
          <>
            {sheets.length > 1 && (
              <Choice
                label={t('sheet')}
                value={chosen}
                options={sheets.map(({ name }, at) => [`${at}`, name] as const)}
                onChange={choose}
              />
            )}
            <DataTable key={sheet.name} rows={sheet.rows} name={sheet.name} />
          </>
        )
      }}
    </Panel>
  )
}
