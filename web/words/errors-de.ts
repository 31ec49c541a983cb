/** Translates into German what the API says in English. It is loaded with the first error of a page in German. */

/** By the sentence of the API. `{1}`, `{2}` stand for the parts that change. A code says what has no sentence here. */
export const germanErrors: Readonly<Record<string, string>> = {
  '{1} has tools that this request may not use.': '{1} hat Werkzeuge, die diese Anfrage nicht benutzen darf.',
  '{1} has these files already.': '{1} hat diese Dateien schon.',
  '{1} holds what looks like a secret.': '{1} enthält etwas, das wie ein Geheimnis aussieht.',
  '{1} is missing.': 'Es fehlt: {1}.',
  '{1} is policy of the tenant. A session may only tighten it: change it with PATCH /api/settings.':
    'Das legen die Einstellungen fest. Eine Sitzung darf es nur verschärfen.',
  '{1} is policy of the tenant. Changing it needs a key with the scope "approve".':
    'Das darf nur ein Schlüssel mit dem Recht „approve“ ändern.',
  '{1} is policy of the tenant. A key with this role may not change it.':
    'Die Rolle deines Schlüssels darf das nicht ändern.',
  '{1} is policy of the tenant. A key with the scope "approve" may allow calls always.':
    'Immer erlauben darf nur ein Schlüssel mit dem Recht „approve“.',
  '{1} has no setting url.': '{1} hat keine Adresse eines Servers.',
  '{1} needs no key.': '{1} braucht keinen Schlüssel.',
  '{1} needs settings.address: the address of the agent.': 'Es fehlt die Adresse des Agenten.',
  '{1} needs settings.url: the address of the server.': 'Es fehlt die Adresse des Servers.',
  'A file of the project has a part of this path as its name.':
    'Eine Datei des Projekts heißt schon wie ein Teil dieses Pfads.',
  'A job has either monitor_script or monitor_url.': 'Ein Auftrag beobachtet entweder ein Skript oder eine Adresse.',
  'A job needs a prompt, or a script with no_agent.': 'Der Auftrag braucht eine Anweisung.',
  'A job needs a schedule.': 'Der Auftrag braucht einen Zeitplan.',
  'A limit in USD holds, and the price of {1} is unknown.':
    'Es gilt eine Grenze in USD, und der Preis von {1} ist nicht bekannt.',
  'A message has at most {1} characters; put more into a file.':
    'Eine Nachricht hat höchstens {1} Zeichen. Längeres gehört in eine Datei.',
  'A message has at most {1} files.': 'Eine Nachricht hat höchstens {1} Dateien.',
  'A run of this job is in progress.': 'Ein Lauf dieses Auftrags ist noch im Gang.',
  'A temporary chat belongs to no project.': 'Ein temporärer Chat gehört zu keinem Projekt.',
  'A tenant {1} already exists.': 'Einen Mandanten {1} gibt es schon.',
  'A tool has another hash by now. List the tools again.':
    'Ein Werkzeug hat sich inzwischen geändert. Lade die Werkzeuge neu.',
  'A turn is running in this session. Stop it first, or wait.':
    'In dieser Sitzung läuft gerade etwas. Halte es an, oder warte.',
  'Another server needs its own secrets: give all of them.':
    'Ein anderer Server braucht eigene Geheimnisse: gib alle an.',
  'At most {1} toolsets.': 'Höchstens {1} Werkzeuggruppen.',
  'Files are exported with format={1} only.': 'Dateien gibt es nur mit dem Format {1}.',
  'GitHub answered {1}: {2}.': 'GitHub antwortete {1}: {2}.',
  'GitHub did not answer.': 'GitHub hat nicht geantwortet.',
  'Line {1} is not valid JSON.': 'Zeile {1} ist kein gültiges JSON.',
  'Line {1} looks like an attack ({2}): {3}. Reword it.':
    'Zeile {1} sieht wie ein Angriff aus ({2}). Formuliere sie anders.',
  'No background process with this id runs.': 'So ein Hintergrundprozess läuft nicht.',
  'No prompt has failed or was left out.': 'Nichts ist fehlgeschlagen oder ausgelassen worden.',
  'No tool is named {1}. GET /api/tools lists them.': 'Es gibt kein Werkzeug {1}.',
  'Only members who manage the project may give it to a channel.':
    'Nur wer das Projekt verwaltet, darf es einem Kanal geben.',
  'Plugins run in isolates: the deployment needs the binding LOADER.':
    'Für Plugins fehlt dieser Installation die Bindung LOADER.',
  'Refused: the skill has directives against the agent or its user ({1}).':
    'Abgelehnt: Die Fähigkeit enthält Anweisungen gegen den Agenten oder seinen Benutzer.',
  'Several calls of this run wait. Name one of them.': 'Mehrere Aufrufe dieses Laufs warten. Nenne einen davon.',
  'The address cannot be read: {1}': 'Die Adresse lässt sich nicht lesen.',
  'The address has several skills. Send name, one of: {1}.':
    'Unter der Adresse stehen mehrere Fähigkeiten. Nenne eine davon: {1}.',
  'The address is not assigned to this tenant. The operator assigns it: {1}.':
    'Die Adresse gehört nicht zu diesem Mandanten. Der Betreiber teilt sie zu.',
  'The address may not be called: {1}': 'Diese Adresse darf nicht aufgerufen werden.',
  'The batch is in progress.': 'Die Stapelverarbeitung läuft noch.',
  'The body is larger than {1}.': 'Das ist größer als {1}.',
  'The conversation has no message yet.': 'Das Gespräch hat noch keine Nachricht.',
  'The conversation has too many links. Delete one first.': 'Das Gespräch hat zu viele Links. Widerrufe zuerst einen.',
  'The default model was {1} when this job was made, and is {2} now. Nothing was called. Set the model of the job to {3} to keep it, or to {4} to accept the change.':
    'Das Standardmodell war {1}, als dieser Auftrag entstand, und ist jetzt {2}. Es wurde nichts aufgerufen. Lege das Modell des Auftrags fest.',
  'The deployment defines this server (MCP_SERVERS).': 'Diesen Server legt die Installation fest.',
  'The deployment defines this server (MCP_SERVERS): only enabled and tools can be changed.':
    'Diesen Server legt die Installation fest: Nur der Schalter und die Werkzeuge lassen sich ändern.',
  'The deployment has no binding LOADER.': 'Dieser Installation fehlt die Bindung LOADER.',
  'The file has changed since. Read it again.': 'Die Datei hat sich inzwischen geändert. Lade sie neu.',
  'The file has {1} bytes.': 'Die Datei hat {1} Bytes.',
  'The files of a project have at most 50 MB together.': 'Die Dateien eines Projekts haben zusammen höchstens 50 MB.',
  'The key must be a member of the project.': 'Der Schlüssel muss Mitglied des Projekts sein.',
  'The key is a member of this project who may not change this.':
    'Dein Schlüssel darf das in diesem Projekt nicht ändern.',
  'The limit {1} of this tenant is reached.': 'Eine Grenze ist erreicht.',
  'The message is empty.': 'Die Nachricht ist leer.',
  'The models cannot be listed: {1}': 'Der Server nennt seine Modelle nicht: {1}',
  'The name "{1}" is taken. Choose another one.': 'Der Name „{1}“ ist vergeben. Nimm einen anderen.',
  'The path has a character or a part that is not allowed, or is too long.':
    'Der Pfad enthält etwas, das nicht erlaubt ist, oder er ist zu lang.',
  'The path is not that of a file.': 'Der Pfad ist nicht der einer Datei.',
  'The plugin guards calls: to pause or delete it needs the scope approve.':
    'Das Plugin bewacht Aufrufe: Anhalten und Löschen braucht das Recht „approve“.',
  'The plugin has another hash by now. Read it again.': 'Das Plugin hat sich inzwischen geändert. Lade es neu.',
  'The project has as many files as it can have. Delete one first.':
    'Das Projekt hat so viele Dateien, wie es haben kann. Lösche zuerst eine.',
  'The role of this key does not allow calls with this risk. It may deny the call.':
    'Die Rolle deines Schlüssels erlaubt Aufrufe mit diesem Risiko nicht. Ablehnen darf sie.',
  'The scan found: {1}. To store it anyway, send accept: true.': 'Die Prüfung hat etwas gefunden: {1}.',
  'The server has a token or headers. Set auth to oauth first.':
    'Der Server hat einen Token oder Kopfzeilen. Stelle die Anmeldung zuerst auf OAuth um.',
  'The server may not be called: {1}.': 'Dieser Server darf nicht aufgerufen werden.',
  'The server refuses the key ({1}).': 'Der Server weist den Schlüssel ab ({1}).',
  'The session has made checkpoints of its own.': 'Die Sitzung hat schon eigene Stände.',
  'The skill is pinned. Unpin it first: PATCH {"pinned": false}.': 'Die Fähigkeit ist angeheftet. Löse sie zuerst.',
  'The skill was not imported.': 'Die Fähigkeit wurde nicht importiert.',
  'The tenant has no role "{1}". The setting roles has them.': 'Es gibt keine Rolle „{1}“.',
  'The tenant is in use. Restore into a new tenant, or one without memory, skills, projects and jobs.':
    'Der Mandant ist in Gebrauch. Stelle in einen leeren Mandanten wieder her.',
  'The tenant {1} cannot be deleted.': 'Der Mandant {1} lässt sich nicht löschen.',
  'The time zone must be a name of the IANA database.': 'Die Zeitzone ist ein Name wie Europe/Berlin.',
  'The webhook is disabled. Enable it first.': 'Der Webhook ist ausgeschaltet. Schalte ihn zuerst ein.',
  'The workspace of this session keeps no checkpoints now.':
    'Der Arbeitsbereich dieser Sitzung behält gerade keine Stände.',
  'There are 200 batches. Delete some that are not needed any more.':
    'Es gibt 200 Stapel. Lösche, was nicht mehr gebraucht wird.',
  'There are already 100 servers. Delete one first.': 'Es gibt schon 100 Server. Lösche zuerst einen.',
  'There are already 20 webhooks. Delete one first.': 'Es gibt schon 20 Webhooks. Lösche zuerst einen.',
  'There are already 50 plugins. Delete one first.': 'Es gibt schon 50 Plugins. Lösche zuerst eines.',
  'There are already {1} credentials. Delete one first.': 'Es gibt schon {1} Schlüssel. Lösche zuerst einen.',
  'There are already {1} secrets. Delete one first.': 'Es gibt schon {1} Geheimnisse. Lösche zuerst eines.',
  'There are more than 20000 messages.': 'Es sind mehr als 20 000 Nachrichten.',
  'There are too many projects. Delete one first.': 'Es gibt zu viele Projekte. Lösche zuerst eines.',
  'There are too many skills. Delete one first.': 'Es gibt zu viele Fähigkeiten. Lösche zuerst eine.',
  'There is a checkpoint "{1}" already.': 'Einen Stand „{1}“ gibt es schon.',
  'There is a file at the new path already.': 'Unter dem neuen Pfad gibt es schon eine Datei.',
  'There is a skill of this name. Replace it with PUT.': 'Eine Fähigkeit dieses Namens gibt es schon.',
  'There is already a plugin named {1}.': 'Ein Plugin {1} gibt es schon.',
  'There is already a server named {1}.': 'Einen Server {1} gibt es schon.',
  'There is no job "{1}".': 'Es gibt keinen Auftrag „{1}“.',
  'There is no key {1}.': 'Es gibt keinen Schlüssel {1}.',
  'There is no provider {1}. Use one of docs/providers.md, or custom: and a name of your own.':
    'Einen Anbieter {1} gibt es nicht. Nimm einen der Liste, oder custom: und einen eigenen Namen.',
  'There is no role {1}.': 'Es gibt keine Rolle {1}.',
  'There is no such checkpoint.': 'Diesen Stand gibt es nicht.',
  'There is no such project.': 'Dieses Projekt gibt es nicht.',
  'There is no such version.': 'Diese Fassung gibt es nicht.',
  'There is no tenant {1}.': 'Es gibt keinen Mandanten {1}.',
  'There is no toolset or tool {1}.': 'Es gibt keine Werkzeuggruppe und kein Werkzeug {1}.',
  'There is no turn to repeat, or one is running.': 'Es gibt nichts zu wiederholen, oder es läuft gerade etwas.',
  'These secrets are being changed by another request. Try again.':
    'Diese Geheimnisse werden gerade geändert. Versuche es noch einmal.',
  'This address belongs to another channel.': 'Diese Adresse gehört zu einem anderen Kanal.',
  'This address cannot be used: {1}.': 'Diese Adresse lässt sich nicht verwenden.',
  'This address may not be called: {1}': 'Diese Adresse darf nicht aufgerufen werden.',
  'This approval has already been decided, or the turn has ended.':
    'Darüber ist schon entschieden, oder der Lauf ist zu Ende.',
  'This call can only be allowed once: no safe rule covers it.':
    'Dieser Aufruf lässt sich nur einmal erlauben: Keine sichere Regel passt auf ihn.',
  'This channel cannot be used now.': 'Dieser Kanal lässt sich gerade nicht verwenden.',
  'This code does not exist or has expired.': 'Diesen Code gibt es nicht, oder er ist abgelaufen.',
  'This deployment has no BLOBS.': 'Dieser Installation fehlt die Bindung BLOBS.',
  'This is no IANA time zone, such as Europe/Berlin.': 'Das ist keine Zeitzone wie Europe/Berlin.',
  'This job was not made in a conversation, so it has no origin.':
    'Dieser Auftrag stammt aus keinem Gespräch, er hat also keine Herkunft.',
  'This key does not have the scope "{1}" itself.': 'Dein Schlüssel hat das Recht „{1}“ selbst nicht.',
  'This key is already stored for {1}.': 'Diesen Schlüssel gibt es für {1} schon.',
  'This question has been answered, or the turn has ended.': 'Diese Frage ist beantwortet, oder der Lauf ist zu Ende.',
  'This run is not queued any more. Stop it with POST …/stop.': 'Das wartet nicht mehr: Es läuft schon.',
  'This run is not running. Send the message to its session.': 'Dieser Lauf ist zu Ende.',
  'This run does not wait for an approval.': 'Dieser Lauf wartet auf keine Freigabe.',
  'This session has too many subscribers.': 'Diese Sitzung ist an zu vielen Stellen geöffnet.',
  'This tenant has too many subscribers.': 'Die Seite ist an zu vielen Stellen geöffnet.',
  'This tenant is suspended. Ask the operator of this deployment.': 'Dieser Mandant ist gesperrt. Frage den Betreiber.',
  'This would give more rights than the role of this key has.':
    'Das gäbe mehr Rechte, als die Rolle deines Schlüssels hat.',
  'Too many wrong codes.': 'Zu viele falsche Codes.',
  'Too many wrong keys from this address.': 'Zu viele falsche Schlüssel von dieser Adresse.',
  'Unknown field: {1}.': 'Dieses Feld gibt es nicht: {1}.',
  'Uploads need the binding BLOBS.': 'Zum Hochladen fehlt dieser Installation die Bindung BLOBS.',
  '`from` must be before `to`.': 'Der Anfang muss vor dem Ende liegen.',
  '"{1}" is no schedule. Write 30m, 2h or 1d (once, after this time), every 30m, a cron expression such as "0 9 * * 1-5", or a time such as 2026-12-01T09:00.':
    '„{1}“ ist kein Zeitplan. Schreibe 30m, 2h oder 1d (einmal, nach dieser Zeit), every 30m, einen Cron-Ausdruck wie „0 9 * * 1-5“ oder eine Zeit wie 2026-12-01T09:00.',
  'The schedule is empty or too long. Write 30m, 2h or 1d (once, after this time), every 30m, a cron expression such as "0 9 * * 1-5", or a time such as 2026-12-01T09:00.':
    'Der Zeitplan ist leer oder zu lang. Schreibe 30m, 2h oder 1d (einmal, nach dieser Zeit), every 30m, einen Cron-Ausdruck wie „0 9 * * 1-5“ oder eine Zeit wie 2026-12-01T09:00.',
  '{1} Write 30m, 2h or 1d (once, after this time), every 30m, a cron expression such as "0 9 * * 1-5", or a time such as 2026-12-01T09:00.':
    'Diesen Zeitplan gibt es nicht. Schreibe 30m, 2h oder 1d (einmal, nach dieser Zeit), every 30m, einen Cron-Ausdruck wie „0 9 * * 1-5“ oder eine Zeit wie 2026-12-01T09:00.',
  '"{1}" is no unit of time: use m, h, d or w. The smallest is a minute.':
    '„{1}“ ist keine Zeiteinheit: Nimm m, h, d oder w. Die kleinste ist eine Minute.',
  'Use a time from one minute to 3650 days.': 'Nimm eine Zeit von einer Minute bis zu 3650 Tagen.',
  'There is no such date or time of day.': 'Diesen Tag oder diese Uhrzeit gibt es nicht.',
  '"{1}" is no offset from UTC, such as +02:00.': '„{1}“ ist kein Abstand zu UTC wie +02:00.',
  'This time is over. Use a time in the future.': 'Diese Zeit ist vorbei. Nimm eine in der Zukunft.',
  'This time is more than 3650 days away.': 'Diese Zeit ist mehr als 3650 Tage entfernt.',
  '"{1}" is no IANA time zone, such as Europe/Berlin.': '„{1}“ ist keine Zeitzone wie Europe/Berlin.',
  'This schedule never comes due: there is no such day.': 'Dieser Zeitplan wird nie fällig: Den Tag gibt es nicht.',
}

/** Why a run has failed, by the words of the notice in its answer. */
export const germanFailures: Readonly<Record<string, string>> = {
  'the provider refused the API key': 'der Anbieter hat den Schlüssel abgewiesen',
  'the API key has been revoked': 'der Schlüssel wurde widerrufen',
  'the API key may not use this model': 'der Schlüssel darf dieses Modell nicht benutzen',
  'the account at the provider has no credit or quota left': 'das Konto beim Anbieter hat kein Guthaben mehr',
  'the provider limits the rate of requests and did not recover in time':
    'der Anbieter begrenzt die Anfragen und hat nicht rechtzeitig wieder geantwortet',
  'the model is limited at its provider for everybody at the moment':
    'das Modell ist bei seinem Anbieter gerade für alle begrenzt',
  'the provider is overloaded and did not recover in time': 'der Anbieter ist überlastet',
  'the provider keeps failing inside': 'beim Anbieter schlägt immer wieder etwas fehl',
  'the connection to the provider kept failing': 'die Verbindung zum Anbieter ist immer wieder abgebrochen',
  'the provider kept sending nothing': 'der Anbieter hat nichts mehr gesendet',
  'the certificate of the provider does not hold, so nothing was sent':
    'das Zertifikat des Anbieters gilt nicht, darum wurde nichts gesendet',
  'the provider kept reporting a conflict with another request': 'der Anbieter meldet immer wieder einen Konflikt',
  'the model kept sending answers that could not be used': 'die Antworten des Modells waren nicht zu gebrauchen',
  'the conversation no longer fits into the context window, even compressed':
    'das Gespräch passt auch zusammengefasst nicht mehr in das Modell',
  'the request is too large for the provider, and nothing in it could be made smaller: send it in smaller parts':
    'die Anfrage ist zu groß für den Anbieter: Sende sie in kleineren Teilen',
  'an image is too large for the model': 'ein Bild ist zu groß für das Modell',
  'the account may not use a context of this length': 'das Konto darf kein so langes Gespräch führen',
  'the model may not write as much as was asked for': 'das Modell darf nicht so viel schreiben, wie verlangt war',
  'the provider does not have this model': 'der Anbieter hat dieses Modell nicht',
  'the model declined to answer': 'das Modell wollte nicht antworten',
  'the privacy or guardrail settings of the provider account exclude this model':
    'die Einstellungen des Kontos beim Anbieter schließen dieses Modell aus',
  'the model cannot read results of this form': 'das Modell kann Ergebnisse dieser Art nicht lesen',
  'the provider did not accept the earlier thinking of the conversation':
    'der Anbieter hat frühere Gedanken des Gesprächs nicht angenommen',
  'the provider did not accept the earlier reasoning of the conversation':
    'der Anbieter hat frühere Überlegungen des Gesprächs nicht angenommen',
  'the server cannot use the schema of a tool': 'der Server kann das Schema eines Werkzeugs nicht verwenden',
  'the account may not use the long context': 'das Konto darf den langen Kontext nicht benutzen',
  'the provider rejected the request': 'der Anbieter hat die Anfrage abgelehnt',
  'the model did not answer in the requested format, not even when it was told what is wrong':
    'das Modell hat nicht in der verlangten Form geantwortet',
  'the model called too many tools of the client at once': 'das Modell hat zu viele Werkzeuge auf einmal aufgerufen',
  'the system restarted again and again at the same step':
    'das System ist an derselben Stelle immer wieder neu gestartet',
  'the call was cancelled': 'der Aufruf wurde abgebrochen',
  'none of the models that are named can be asked': 'keines der genannten Modelle lässt sich fragen',
  'a spending limit is reached': 'die Ausgabengrenze ist erreicht',
  'a limit in USD is set, and the price of the model is unknown':
    'es gilt eine Grenze in USD, und der Preis des Modells ist nicht bekannt',
  'the model cannot stream its answers, and could not be asked without streaming':
    'das Modell kann seine Antworten nicht stückweise senden',
  'the model cannot see images': 'das Modell kann keine Bilder sehen',
  'the provider kept failing': 'beim Anbieter ist immer wieder etwas fehlgeschlagen',
}

/** Why a call waits for an approval, by the words of the policy. The first that fits counts. */
export const germanReasons: Readonly<Record<string, string>> = {
  'The redirection would write to {1}, a path that is only known at run time':
    'Die Umleitung würde nach {1} schreiben: Wohin, zeigt sich erst beim Ausführen',
  '{1} is set to {2}, which may change what programs do':
    '{1} wird auf {2} gesetzt, und das kann ändern, was Programme tun',
  '{1} publishes commits': '{1} veröffentlicht Commits',
  '{1} may lose stashed changes': '{1} kann beiseitegelegte Änderungen verlieren',
  '{1} rewrites history': '{1} schreibt die Geschichte um',
  '{1} runs commands': '{1} führt Befehle aus',
  '{1} starts another program': '{1} startet ein anderes Programm',
  '{1} would clone into {2}, outside the workspace': '{1} würde nach {2} klonen, außerhalb des Arbeitsbereichs',
  '{1} would change the rights of {2} and everything in it': '{1} würde die Rechte von {2} und allem darin ändern',
  '{1} reads and can change the memory of another program':
    '{1} liest den Speicher eines anderen Programms und kann ihn ändern',
  'history changes the list of earlier commands': 'history ändert die Liste früherer Befehle',
  'The redirection would write to {1}, outside the workspace':
    'Die Umleitung würde nach {1} schreiben, außerhalb des Arbeitsbereichs',
  'The redirection would write to {1}, which other programs run or trust':
    'Die Umleitung würde nach {1} schreiben, das andere Programme ausführen oder dem sie vertrauen',
  'The redirection reads {1}, which may hold secrets': 'Die Umleitung liest {1}, worin Geheimnisse stehen können',
  '{1} would write {2}, outside the workspace': '{1} würde {2} schreiben, außerhalb des Arbeitsbereichs',
  '{1} would write {2}, which other programs run or trust':
    '{1} würde {2} schreiben, das andere Programme ausführen oder dem sie vertrauen',
  '{1} would change {2}, outside the workspace': '{1} würde {2} ändern, außerhalb des Arbeitsbereichs',
  '{1} would change {2}, which other programs run or trust':
    '{1} würde {2} ändern, das andere Programme ausführen oder dem sie vertrauen',
  '{1} would move {2}, outside the workspace': '{1} würde {2} verschieben, außerhalb des Arbeitsbereichs',
  '{1} would remove {2}, outside the workspace': '{1} würde {2} entfernen, außerhalb des Arbeitsbereichs',
  '{1} would unpack into {2}, outside the workspace': '{1} würde nach {2} auspacken, außerhalb des Arbeitsbereichs',
  '{1} would lead to {2}, outside the workspace': '{1} würde nach {2} führen, außerhalb des Arbeitsbereichs',
  '{1} would lead to {2}, which other programs run or trust':
    '{1} würde nach {2} führen, das andere Programme ausführen oder dem sie vertrauen',
  '{1} reads {2}, which may hold secrets': '{1} liest {2}, worin Geheimnisse stehen können',
  '{1} sends data': '{1} sendet Daten',
  '{1} runs with the rights of another user': '{1} läuft mit den Rechten eines anderen Benutzers',
  '{1} runs shell code that is only known at run time: {2}':
    '{1} führt Shell-Code aus, der sich erst beim Ausführen zeigt: {2}',
  '{1} runs shell code that is only known at run time': '{1} führt Shell-Code aus, der sich erst beim Ausführen zeigt',
  '{1} starts a program that is only known at run time': '{1} startet ein Programm, das sich erst beim Ausführen zeigt',
  '{1} is run, and has just been written with something that cannot be judged':
    '{1} wird ausgeführt, und ist gerade mit etwas geschrieben worden, das sich nicht beurteilen lässt',
  '{1} runs what this command has just written': '{1} führt aus, was dieser Befehl gerade geschrieben hat',
  '{1} may run what this command has just written': '{1} kann ausführen, was dieser Befehl gerade geschrieben hat',
  'rm would remove {1} and everything in it': 'rm würde {1} und alles darin entfernen',
  '{1} would remove {2}: the files are only known at run time':
    '{1} würde {2} entfernen: Welche Dateien das sind, zeigt sich erst beim Ausführen',
  'find would remove what it finds': 'find würde entfernen, was es findet',
  'find would start {1} for what it finds': 'find würde {1} für alles starten, was es findet',
  'xargs is given {1}': 'xargs bekommt {1}',
  'tar would reach another machine for {1}': 'tar würde für {1} einen anderen Rechner erreichen',
  'sed could write files or start programs with {1}': 'sed könnte mit {1} Dateien schreiben oder Programme starten',
  'awk could write files or start programs with {1}': 'awk könnte mit {1} Dateien schreiben oder Programme starten',
  'python -m {1} is not on the list': 'python -m {1} steht nicht auf der Liste',
  'openssl {1} may read keys, write files or open connections':
    'openssl {1} kann Schlüssel lesen, Dateien schreiben oder Verbindungen öffnen',
  'kill would end {1}': 'kill würde {1} beenden',
  'git is given the setting {1}': 'git bekommt die Einstellung {1}',
  'git config changes {1}': 'git config ändert {1}',
  'git checkout {1} may discard changes': 'git checkout {1} kann Änderungen verwerfen',
  'git restore would discard changes': 'git restore würde Änderungen verwerfen',
  'git clean would delete files that are not tracked': 'git clean würde Dateien löschen, die git nicht kennt',
  'git works in a directory that is only known at run time':
    'git arbeitet in einem Ordner, der sich erst beim Ausführen zeigt',
  'curl is given {1}, which reads or writes a file': 'curl bekommt {1} und liest oder schreibt damit eine Datei',
  'chmod {1} lets others write, or run it with other rights':
    'chmod {1} lässt andere schreiben, oder es mit anderen Rechten ausführen',
  'alias changes what {1} does': 'alias ändert, was {1} tut',
  '{1} runs outside the workspace': '{1} läuft außerhalb des Arbeitsbereichs',
  '{1} works outside the workspace': '{1} arbeitet außerhalb des Arbeitsbereichs',
  '{1} runs code of the project, which may use the network':
    '{1} führt Code des Projekts aus, der das Netz benutzen kann',
  '{1} runs code of the project on a machine that is not disposable':
    '{1} führt Code des Projekts auf einem Rechner aus, der nicht zum Wegwerfen ist',
  '{1} may destroy data or publish something': '{1} kann Daten zerstören oder etwas veröffentlichen',
  '{1} is not on the list of commands that run without approval':
    '{1} steht nicht auf der Liste der Befehle, die ohne Freigabe laufen',
  '{1} is not on the list of programs that run without approval':
    '{1} steht nicht auf der Liste der Programme, die ohne Freigabe laufen',
  '{1} starts something that is only known at run time': '{1} startet etwas, das sich erst beim Ausführen zeigt',
  '{1} is read as shell code': '{1} wird als Shell-Code gelesen',
  '{1} may run settings that this command has just fetched':
    '{1} kann Einstellungen ausführen, die dieser Befehl gerade geholt hat',
  '{1} runs commands for others, later, or elsewhere': '{1} führt Befehle für andere, später oder anderswo aus',
  '{1} runs code from the command line: {2}': '{1} führt Code aus der Befehlszeile aus: {2}',
  '{1} runs {2}, outside the workspace': '{1} führt {2} aus, außerhalb des Arbeitsbereichs',
  '{1} runs {2}, a file outside the workspace': '{1} führt {2} aus, eine Datei außerhalb des Arbeitsbereichs',
  '{1} is given code': '{1} bekommt Code',
  '{1} -C runs a command': '{1} -C führt einen Befehl aus',
  '{1} would start a program or overwrite branches': '{1} würde ein Programm starten oder Zweige überschreiben',
  '{1} would start {2}': '{1} würde {2} starten',
  '{1} would run {2}': '{1} würde {2} ausführen',
  '{1} would let a container write to {2}': '{1} würde einen Container nach {2} schreiben lassen',
  '{1} uses the network': '{1} benutzt das Netz',
  '{1} unpacks files that other programs may run': '{1} packt Dateien aus, die andere Programme ausführen können',
  '{1} runs what a command prints': '{1} führt aus, was ein Befehl ausgibt',
  '{1} runs its input': '{1} führt seine Eingabe aus',
  '{1} runs commands of its own': '{1} führt eigene Befehle aus',
  '{1} runs a command line': '{1} führt eine Befehlszeile aus',
  '{1} reads its input as code': '{1} liest seine Eingabe als Code',
  '{1} opens an address that is only known at run time': '{1} öffnet eine Adresse, die sich erst beim Ausführen zeigt',
  '{1} opens a connection to {2}': '{1} öffnet eine Verbindung zu {2}',
  '{1} opens {2}, which may give out keys': '{1} öffnet {2}, und das kann Schlüssel verraten',
  '{1} opens {2}': '{1} öffnet {2}',
  '{1} may load a file that has just been written': '{1} kann eine Datei laden, die gerade geschrieben wurde',
  '{1} is given {2}, outside the workspace': '{1} bekommt {2}, außerhalb des Arbeitsbereichs',
  '{1} is given {2}, which is not on the list of harmless options':
    '{1} bekommt {2}, das nicht auf der Liste harmloser Optionen steht',
  '{1} is given {2}': '{1} bekommt {2}',
  'umask lets others write to new files': 'umask lässt andere in neue Dateien schreiben',
  'set -a passes all variables to programs': 'set -a gibt alle Variablen an Programme weiter',
  'rsync copies to or from another machine': 'rsync kopiert zu oder von einem anderen Rechner',
  'printenv shows variables, secrets among them': 'printenv zeigt Variablen, auch Geheimnisse',
  'it runs code in the page, with the logins of the page': 'es führt Code in der Seite aus, mit deren Anmeldungen',
  'it commands the browser directly, with the logins of the page':
    'es steuert den Browser direkt, mit den Anmeldungen der Seite',
  'it runs a Python program on the host of the session': 'es führt ein Python-Programm auf dem Rechner der Sitzung aus',
  'it changes the home': 'es ändert etwas im Zuhause',
  'it changes what the account plays or keeps': 'es ändert, was das Konto spielt oder behält',
  'The job runs this script at its times without asking again.':
    'Der Auftrag führt dieses Skript zu seinen Zeiten aus, ohne noch einmal zu fragen.',
  'The job sends its results to {1} without asking again.':
    'Der Auftrag sendet seine Ergebnisse an {1}, ohne noch einmal zu fragen.',
  'Restores {1} to the checkpoint "{2}"; later changes by the agent are lost.':
    'Setzt {1} auf den Stand „{2}“ zurück; spätere Änderungen des Agenten gehen verloren.',
  // Why a server of MCP is not there.
  'The server cannot be reached: check its address': 'Der Server ist nicht zu erreichen. Prüfe seine Adresse.',
  'The server cannot be reached: {1}': 'Der Server ist nicht zu erreichen: {1}',
  'The server cannot be used: {1}.': 'Der Server geht nicht: {1}.',
  'The server did not answer in time.': 'Der Server hat nicht rechtzeitig geantwortet.',
  'The server answered with status {1}': 'Der Server hat mit dem Status {1} geantwortet',
  'The server redirects (status {1}). Give its final address.':
    'Der Server leitet weiter (Status {1}). Nenne seine endgültige Adresse.',
  'The server refuses the credentials (status {1}). Set its token, or auth to oauth and sign in.':
    'Der Server lehnt die Zugangsdaten ab (Status {1}). Setze sein Token, oder wähle OAuth und melde dich an.',
  'The server refuses the credentials (status {1}). Set its token or headers.':
    'Der Server lehnt die Zugangsdaten ab (Status {1}). Setze sein Token oder seine Header.',
  'The server speaks the version {1}, which is not known here.':
    'Der Server spricht die Version {1}, die hier unbekannt ist.',
  'The server answered with nothing.': 'Der Server hat mit nichts geantwortet.',
  'The server answered with a page and not with a message of MCP. Check its address. The page: {1}':
    'Der Server hat mit einer Webseite geantwortet und nicht mit einer Nachricht von MCP. Prüfe seine Adresse. Die Seite: {1}',
  'The server answered with text that is not JSON: {1}': 'Der Server hat mit Text geantwortet, der kein JSON ist: {1}',
  'The server answered with JSON that is no message of MCP: {1}':
    'Der Server hat mit JSON geantwortet, das keine Nachricht von MCP ist: {1}',
  'The server answered another request than this one.': 'Der Server hat eine andere Anfrage beantwortet als diese.',
  'The server answered without a result.': 'Der Server hat ohne Ergebnis geantwortet.',
  'The list of tools of the server is not a list.': 'Die Werkzeugliste des Servers ist keine Liste.',
  'The answer of the server is larger than 8 MiB.': 'Die Antwort des Servers ist größer als 8 MiB.',
  'Its list is longer than {1} pages or {2} tools. The rest is left out.':
    'Seine Liste ist länger als {1} Seiten oder {2} Werkzeuge. Der Rest fehlt hier.',
  'The stream of the server ended before its answer.': 'Der Server hat vor seiner Antwort aufgehört.',
  'The server did not open a stream of events.': 'Der Server hat keinen Ereignisstrom geöffnet.',
  'The program {1} has ended too often.': 'Das Programm {1} hat sich zu oft beendet.',
  'The program has ended: {1}': 'Das Programm hat sich beendet: {1}',
  'There is no secret {1}: POST /api/secrets.': 'Ein Geheimnis {1} gibt es nicht.',
  'There is no secret named {1}. Store it under /api/secrets.':
    'Ein Geheimnis namens {1} gibt es nicht. Lege es unter „Geheimnisse“ an.',
  'It was not connected yet.': 'Er wurde noch nicht verbunden.',
  'Nobody has signed in yet.': 'Noch hat sich niemand angemeldet.',
  'The sign-in belongs to another address.': 'Die Anmeldung gehört zu einer anderen Adresse.',
}
