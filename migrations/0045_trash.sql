CREATE INDEX "events_deleted" ON "events" USING btree ("organization_id","seq") WHERE "events"."type" like '%.deleted';
