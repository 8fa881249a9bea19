CREATE INDEX "passages_newest" ON "passages" USING btree ("owner","at","id");
